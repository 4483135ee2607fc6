package dev.strata.format.safetensors;

import dev.strata.format.MappedFile;
import dev.strata.format.MappedModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorTable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A Hugging Face model folder: config.json, one safetensors file or several with their index, tokenizer files. */
public final class SafetensorsModelFiles extends MappedModelFiles {
    private static final String SINGLE_NAME = "model.safetensors";

    private final Path folder;

    private SafetensorsModelFiles(
            Path path, Path folder, List<Path> files, Map<String, Object> metadata, TensorTable tensors) {
        super(path, files, metadata, tensors);
        this.folder = folder;
    }

    /**
     * Opens a folder, or the folder of an index, of one of its shards or of a single file; or a file beside an index that does not name it.
     *
     * @throws ModelFormatException at the first fault
     */
    public static SafetensorsModelFiles open(Path path) {
        return open((tensors, heads) -> read(path, tensors, heads));
    }

    private static SafetensorsModelFiles read(Path path, TensorTable tensors, Arena heads) {
        boolean directory = Files.isDirectory(path);
        Path parent = path.getParent();
        Path folder = directory ? path : parent == null ? Path.of("") : parent;
        Path indexPath = folder.resolve(SafetensorsIndex.FILE_NAME);
        SafetensorsIndex index = Files.exists(indexPath) ? SafetensorsIndex.read(indexPath) : null;
        String name = String.valueOf(path.getFileName());
        // A shard stands for all of them; a file that the index does not know, for itself.
        boolean single = !directory
                && name.endsWith(".safetensors")
                && (index == null || !index.shardOfTensor().containsValue(name));
        List<Path> files = new ArrayList<>();
        if (single) {
            addFile(path, files, tensors, heads);
        } else if (index != null) {
            readShards(index, files, tensors, heads);
        } else if (Files.exists(folder.resolve(SINGLE_NAME))) {
            addFile(folder.resolve(SINGLE_NAME), files, tensors, heads);
        } else {
            throw new ModelFormatException(
                    path + ": holds neither " + SafetensorsIndex.FILE_NAME + " nor " + SINGLE_NAME);
        }
        Path config = folder.resolve("config.json");
        Map<String, Object> metadata = Files.exists(config) ? JsonFile.read(config) : Map.of();
        return new SafetensorsModelFiles(path, folder, files, metadata, tensors);
    }

    private static void addFile(Path path, List<Path> files, TensorTable tensors, Arena heads) {
        MappedFile file = MappedFile.map(path, heads);
        tensors.add(file, SafetensorsHeader.read(file).tensors());
        files.add(path);
    }

    private static void readShards(SafetensorsIndex index, List<Path> files, TensorTable tensors, Arena heads) {
        for (String shard : index.shards()) {
            addFile(index.path().resolveSibling(shard), files, tensors, heads);
        }
        index.shardOfTensor().forEach((name, shard) -> {
            Path expected = index.path().resolveSibling(shard);
            Path actual = tensors.find(name).map(TensorEntry::file).orElse(null);
            if (!expected.equals(actual)) {
                throw new ModelFormatException(
                        expected + ": has no tensor " + name + ", which " + SafetensorsIndex.FILE_NAME + " places there"
                                + (actual == null ? "" : " (it is in " + actual + ")"));
            }
        });
    }

    @Override
    public Container container() {
        return Container.SAFETENSORS;
    }

    @Override
    public Optional<String> companion(String fileName) {
        if (fileName.contains("/") || fileName.contains("\\") || fileName.contains("..")) {
            throw new IllegalArgumentException(fileName + " is not a plain file name");
        }
        Path file = folder.resolve(fileName);
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Files.readString(file, StandardCharsets.UTF_8));
        } catch (IOException exception) {
            throw new ModelFormatException(file + ": cannot be read as UTF-8: " + exception.getMessage(), exception);
        }
    }
}
