package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import dev.strata.synth.ModelSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Finds the files that a model path means. */
final class ModelPath {
    private ModelPath() {}

    /** The model that comes with Strata, in the folder that the launcher names or the current one. */
    static Path standard() {
        Path home = Path.of(System.getProperty("strata.home", ""));
        return home.resolve("models").resolve("strata-tiny");
    }

    /**
     * The path itself, or the GGUF file in a folder that holds one (or the shards of one).
     *
     * @throws ConfigurationException when there is nothing, or more than one model
     */
    static Path resolve(Path path) {
        if (ModelSource.isSynthetic(path)) {
            return path;
        }
        if (!Files.exists(path)) {
            throw new ConfigurationException(
                    path.toAbsolutePath() + " does not exist: name a GGUF file or a model folder with --model");
        }
        if (!Files.isDirectory(path)) {
            return path;
        }
        try (Stream<Path> entries = Files.list(path)) {
            List<Path> ggufs = entries.filter(ModelPath::startsAModel).sorted().toList();
            if (ggufs.isEmpty()) {
                return path;
            }
            if (ggufs.size() > 1) {
                throw new ConfigurationException(path.toAbsolutePath() + " holds several models: name one of "
                        + ggufs.stream()
                                .map(gguf -> gguf.getFileName().toString())
                                .toList() + " with --model");
            }
            return ggufs.getFirst();
        } catch (IOException e) {
            throw new UncheckedIOException(path + " cannot be listed", e);
        }
    }

    private static boolean startsAModel(Path file) {
        String name = file.getFileName().toString();
        boolean shard = name.matches(".*-\\d{5}-of-\\d{5}\\.gguf");
        return name.endsWith(".gguf") && (!shard || name.contains("-00001-of-"));
    }
}
