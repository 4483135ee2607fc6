package dev.strata.format;

import dev.strata.format.gguf.GgufModelFiles;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Opens models by path, whatever the container. */
public final class ModelFileOpener {
    private ModelFileOpener() {}

    /**
     * Opens a GGUF file (or any shard of a split one), a safetensors file or its index, or a folder with either.
     *
     * @throws ModelFormatException naming the file and what is wrong with it
     */
    public static ModelFiles open(Path path) {
        if (!Files.exists(path)) {
            throw new ModelFormatException(path + ": no such file or folder");
        }
        if (Files.isDirectory(path)) {
            List<Path> ggufs = ggufModels(path);
            boolean safetensors = Files.exists(path.resolve("config.json"))
                    || Files.exists(path.resolve("model.safetensors"))
                    || Files.exists(path.resolve("model.safetensors.index.json"));
            if (ggufs.isEmpty() || (safetensors && ggufs.size() != 1)) {
                return SafetensorsModelFiles.open(path);
            }
            if (ggufs.size() == 1) {
                return GgufModelFiles.open(ggufs.getFirst());
            }
            throw new ModelFormatException(path + ": holds several GGUF models, name one of them: "
                    + ggufs.stream().map(Path::getFileName).toList());
        }
        String name = String.valueOf(path.getFileName());
        return name.endsWith(".safetensors") || name.endsWith(".json")
                ? SafetensorsModelFiles.open(path)
                : GgufModelFiles.open(path);
    }

    /** GGUF files of a folder; of a split only the first shard, and no image projectors. */
    private static List<Path> ggufModels(Path folder) {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(entry -> {
                        String name = String.valueOf(entry.getFileName());
                        return name.endsWith(".gguf")
                                && !name.startsWith("mmproj")
                                && (!name.matches(".*-\\d{5}-of-\\d{5}\\.gguf") || name.contains("-00001-of-"));
                    })
                    .sorted()
                    .toList();
        } catch (IOException exception) {
            throw new ModelFormatException(folder + ": cannot be listed: " + exception.getMessage(), exception);
        }
    }
}
