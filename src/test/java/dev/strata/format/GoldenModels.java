package dev.strata.format;

import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.TypePlan;
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
    private static final Map<String, Path> FILES = new ConcurrentHashMap<>();

    private GoldenModels() {}

    /** The folder of a family, unpacked once for all tests of this process and removed at its end. */
    public static Path folder(String family) {
        return FOLDERS.computeIfAbsent(family, GoldenModels::unpack);
    }

    /** The same weights as one GGUF file, converted once for all tests of this process and removed at its end. */
    public static Path gguf(String family) {
        return FILES.computeIfAbsent(family, GoldenModels::convert);
    }

    private static Path convert(String family) {
        try (ModelFiles files = ModelFileOpener.open(folder(family))) {
            Path target = temporary().resolve("model.gguf");
            target.toFile().deleteOnExit();
            Conversion.of(files, TypePlan.parse("keep")).run(target, true, 2, (bytes, tensor) -> {});
            return target;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot convert the reference model " + family, e);
        }
    }

    private static Path unpack(String family) {
        try {
            Path folder = Files.createDirectory(temporary().resolve(family));
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

    private static Path temporary() throws IOException {
        Path folder = Files.createTempDirectory("strata-golden");
        folder.toFile().deleteOnExit();
        return folder;
    }
}
