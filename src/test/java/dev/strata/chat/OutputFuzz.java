package dev.strata.chat;

import java.util.Random;
import java.util.concurrent.TimeUnit;

/** The long form of {@code OutputParserTest.everyCuttingGivesTheSameAnswer}. */
public final class OutputFuzz {
    private OutputFuzz() {}

    /** Reads made up answers for a while; returns how many. */
    public static int run(long seconds, Random random) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        int count = 0;
        do {
            OutputParserTest.cutEverywhere(random);
            count++;
        } while (System.nanoTime() < end);
        return count;
    }
}
