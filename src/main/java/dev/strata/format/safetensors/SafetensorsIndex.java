package dev.strata.format.safetensors;

import dev.strata.format.ModelFormatException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;

/** {@code model.safetensors.index.json}: which shard holds which tensor. */
record SafetensorsIndex(Path path, Map<String, String> shardOfTensor) {
    static final String FILE_NAME = "model.safetensors.index.json";

    /**
     * Reads an index. Shards lie beside it; a name that leads elsewhere is refused before anything is opened.
     *
     * @throws ModelFormatException naming the index and the shard
     */
    static SafetensorsIndex read(Path path) {
        Map<String, Object> weightMap = JsonFile.object(JsonFile.read(path), "weight_map");
        if (weightMap.isEmpty()) {
            throw new ModelFormatException(path + ": has no weight_map");
        }
        Map<String, String> shards = new LinkedHashMap<>();
        weightMap.forEach((tensor, value) -> {
            if (!(value instanceof String shard)) {
                throw new ModelFormatException(path + ": weight_map of " + tensor + " is not a file name");
            }
            if (shard.isEmpty() || shard.contains("/") || shard.contains("\\") || shard.contains("..")) {
                throw new ModelFormatException(path + ": weight_map of " + tensor + " names the path " + shard
                        + ", which is not a plain file name; shards must lie beside the index");
            }
            shards.put(tensor, shard);
        });
        return new SafetensorsIndex(path, shards);
    }

    /** Shard file names in order, all of them existing. */
    TreeSet<String> shards() {
        TreeSet<String> names = new TreeSet<>(shardOfTensor.values());
        StringBuilder missing = new StringBuilder();
        for (String name : names) {
            if (!Files.exists(path.resolveSibling(name))) {
                missing.append(missing.isEmpty() ? "" : ", ").append(name);
            }
        }
        if (!missing.isEmpty()) {
            throw new ModelFormatException(path + ": names shards that do not exist beside it: " + missing);
        }
        return names;
    }
}
