package dev.strata.decode;

import java.util.List;

/** Gives back several things, last made first. */
final class Closing {
    private Closing() {}

    /** Notes something that is to be given back. */
    static <T extends AutoCloseable> T own(List<AutoCloseable> owned, T made) {
        owned.add(made);
        return made;
    }

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
