package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import dev.strata.format.gguf.GgufValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Plans the rewriting of a GGUF model with other types: names and metadata stay, a split becomes one file. */
final class GgufPlan {
    private GgufPlan() {}

    static ConversionPlan of(ModelFiles files) {
        Map<String, GgufValue> metadata = new LinkedHashMap<>();
        files.metadata().forEach((key, value) -> {
            boolean empty = value instanceof List<?> list && list.isEmpty();
            if (!key.startsWith("split.") && !key.equals("general.file_type") && !empty) {
                metadata.put(key, GgufValue.infer(value));
            }
        });
        String prefix = files.metadata().get("general.architecture") + ".";
        long blocks = files.metadata().get(prefix + "block_count") instanceof Long count ? count : Integer.MAX_VALUE;
        long draft = files.metadata().get(prefix + "nextn_predict_layers") instanceof Long count ? count : 0;
        int trunk = (int) Math.clamp(blocks - draft, 0, Integer.MAX_VALUE);
        List<OutputTensor> tensors = new ArrayList<>();
        for (TensorEntry tensor : files.tensors()) {
            boolean inDraft =
                    TensorRole.block(tensor.name()).map(block -> block >= trunk).orElse(false);
            tensors.add(new OutputTensor(
                    tensor.name(), tensor.shape(), Rows.of(files, tensor), TensorRole.of(tensor.name()), inDraft));
        }
        return new ConversionPlan(metadata, tensors, trunk, List.of());
    }
}
