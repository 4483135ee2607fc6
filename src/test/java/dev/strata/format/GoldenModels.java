package dev.strata.format;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The small reference models with their golden logits, as folders of safetensors. */
public final class GoldenModels {
    private static final Path PACKED = Path.of("src/test/resources/golden/reference");
    private static final String PLANES = ".planes.gz";
    private static final Map<String, Path> FOLDERS = new ConcurrentHashMap<>();

    private GoldenModels() {}

    /** The folder of a family, unpacked once for all tests of this process and removed at its end. */
    public static Path folder(String family) {
        return FOLDERS.computeIfAbsent(family, GoldenModels::unpack);
    }

    private static Path unpack(String family) {
        try {
            Path parent = Files.createTempDirectory("strata-golden");
            parent.toFile().deleteOnExit();
            Path folder = Files.createDirectory(parent.resolve(family));
            folder.toFile().deleteOnExit();
            try (DirectoryStream<Path> files = Files.newDirectoryStream(PACKED.resolve(family))) {
                for (Path file : files) {
                    String name = file.getFileName().toString();
                    Path target = folder.resolve(name.replace(PLANES, ""));
                    if (name.endsWith(PLANES)) {
                        PackedFixture.unpack(file, target);
                    } else {
                        Files.copy(file, target);
                    }
                    target.toFile().deleteOnExit();
                }
            }
            return folder;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unpack the reference model " + family, e);
        }
    }
}
