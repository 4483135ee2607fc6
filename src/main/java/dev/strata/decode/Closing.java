package dev.strata.decode;

import java.util.List;

/** Gives back several things, last made first. */
final class Closing {
    private Closing() {}

    static void all(List<AutoCloseable> made) {
        for (AutoCloseable one : made.reversed()) {
            try {
                one.close();
            } catch (RuntimeException failure) {
                throw failure;
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }
}
