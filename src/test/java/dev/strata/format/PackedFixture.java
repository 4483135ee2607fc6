package dev.strata.format;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/**
 * Unpacks model files that are kept small in the repository: gzip over the bytes at even positions followed by those at odd
 * positions, because the two halves of 16-bit floats compress better apart.
 */
public final class PackedFixture {
    private PackedFixture() {}

    /** Writes the original of {@code packed} to {@code target}. */
    public static void unpack(Path packed, Path target) throws IOException {
        byte[] planes;
        try (InputStream stream = new GZIPInputStream(Files.newInputStream(packed))) {
            planes = stream.readAllBytes();
        }
        int half = planes.length / 2;
        byte[] original = new byte[planes.length];
        for (int i = 0; i < half; i++) {
            original[2 * i] = planes[i];
            original[2 * i + 1] = planes[half + i];
        }
        Files.write(target, original);
    }
}
