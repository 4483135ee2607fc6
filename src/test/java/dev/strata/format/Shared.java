package dev.strata.format;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** The folder of golden data that large tests read from; tests skip, saying so, where it is absent. */
public final class Shared {
    private Shared() {}

    /** The given place in the folder of STRATA_SHARED (system property or variable), by default ../shared. */
    public static Path require(String relative) {
        String root = System.getProperty("STRATA_SHARED", System.getenv().getOrDefault("STRATA_SHARED", "../shared"));
        Path path = Path.of(root, relative);
        assumeTrue(Files.exists(path), () -> path + " is not there: golden data of this test is not at hand");
        return path;
    }
}
