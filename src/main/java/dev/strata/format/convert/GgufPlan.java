package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import dev.strata.format.gguf.GgufValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
        long blocks =
                files.metadata().get(prefix + "block_count") instanceof Long count ? count : (long) Integer.MAX_VALUE;
        long draft = files.metadata().get(prefix + "nextn_predict_layers") instanceof Long count ? count : 0;
        int trunk = Math.clamp(blocks - draft, 0, Integer.MAX_VALUE);
        List<OutputTensor> tensors = new ArrayList<>();
        for (TensorEntry tensor : files.tensors()) {
            if (tensor.name().endsWith(".scale") && weightOf(files, tensor).isPresent()) {
                continue;
            }
            boolean inDraft =
                    TensorRole.block(tensor.name()).map(block -> block >= trunk).orElse(false);
            tensors.add(new OutputTensor(
                    tensor.name(), tensor.shape(), rows(files, tensor), TensorRole.of(tensor.name()), inDraft));
        }
        return new ConversionPlan(metadata, tensors, List.of());
    }

    private static Optional<TensorEntry> weightOf(ModelFiles files, TensorEntry scale) {
        return files.find(scale.name().replaceFirst("\\.scale$", ".weight"));
    }

    /** The rows of a tensor with the factors of its scale tensor, which are worked out anew where the result needs some. */
    private static Rows rows(ModelFiles files, TensorEntry tensor) {
        Rows rows = Rows.of(files, tensor);
        return files.find(tensor.name().replaceFirst("\\.weight$", ".scale"))
                .filter(scale -> !scale.name().equals(tensor.name()))
                .map(scale -> {
                    float[] factors = new float[Math.toIntExact(scale.elements())];
                    Quants.decode(scale.type(), files.data(scale), 0, factors, 0, factors.length);
                    return Factors.applied(rows, factors);
                })
                .orElse(rows);
    }
}
