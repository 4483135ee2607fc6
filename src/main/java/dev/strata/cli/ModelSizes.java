package dev.strata.cli;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Sizes of a model summed by what its tensors are for.
 *
 * @param expertKinds layers whose experts have the same types and size, together
 */
record ModelSizes(List<Part> parts, List<ExpertKind> expertKinds, long parameters, long bytes, long expertBytes) {
    /** One role's tensors. */
    record Part(String role, int tensors, long elements, long bytes, String types) {}

    /** Experts of some layers: the types of their matrices and the bytes of one of them. */
    record ExpertKind(String layers, String types, long bytes) {}

    private static final class Sum {
        private int tensors;
        private long elements;
        private long bytes;
        private final Map<String, Integer> types = new TreeMap<>();

        private void add(TensorEntry tensor) {
            tensors++;
            elements += elements(tensor);
            bytes += tensor.bytes();
            types.merge(tensor.dtype(), 1, Integer::sum);
        }
    }

    static ModelSizes of(ModelFiles files) {
        Map<TensorRole, Sum> sums = new EnumMap<>(TensorRole.class);
        long parameters = 0;
        long bytes = 0;
        for (TensorEntry tensor : files.tensors()) {
            sums.computeIfAbsent(role(files, tensor), role -> new Sum()).add(tensor);
            parameters += elements(tensor);
            bytes += tensor.bytes();
        }
        List<Part> parts = new ArrayList<>();
        sums.forEach((role, sum) ->
                parts.add(new Part(role.label(), sum.tensors, sum.elements, sum.bytes, types(sum.types))));
        Sum experts = sums.get(TensorRole.EXPERTS);
        return new ModelSizes(parts, kinds(files), parameters, bytes, experts == null ? 0 : experts.bytes);
    }

    private static TensorRole role(ModelFiles files, TensorEntry tensor) {
        return files.container() == ModelFiles.Container.GGUF
                ? TensorRole.of(tensor.name())
                : TensorRole.ofHuggingFace(tensor.name());
    }

    /** Parameters that a tensor holds: packed four-bit values count as two a byte, scales as what they are. */
    private static long elements(TensorEntry tensor) {
        return tensor.dtype().equals("U8") ? 2 * tensor.elements() : tensor.elements();
    }

    private static String types(Map<String, Integer> counts) {
        return counts.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
                .map(entry -> entry.getKey() + " x" + entry.getValue())
                .collect(Collectors.joining(", "));
    }

    private static List<ExpertKind> kinds(ModelFiles files) {
        Map<String, List<Integer>> layers = new LinkedHashMap<>();
        Map<String, Long> sizes = new LinkedHashMap<>();
        Map<Integer, List<TensorEntry>> byBlock = new TreeMap<>();
        for (TensorEntry tensor : files.tensors()) {
            if (TensorRole.of(tensor.name()) == TensorRole.EXPERTS
                    && tensor.shape().size() == 3) {
                byBlock.computeIfAbsent(TensorRole.block(tensor.name()).orElse(-1), block -> new ArrayList<>())
                        .add(tensor);
            }
        }
        byBlock.forEach((block, tensors) -> {
            long each = tensors.stream()
                    .mapToLong(tensor -> tensor.bytes() / tensor.shape().getFirst())
                    .sum();
            String types = tensors.stream()
                    .map(tensor -> tensor.name().replaceFirst(".*ffn_(.*)_exps.*", "$1") + " " + tensor.dtype())
                    .sorted()
                    .collect(Collectors.joining(", "));
            layers.computeIfAbsent(types, key -> new ArrayList<>()).add(block);
            sizes.put(types, each);
        });
        List<ExpertKind> kinds = new ArrayList<>();
        layers.forEach(
                (types, blocks) -> kinds.add(new ExpertKind(range(blocks), types, sizes.getOrDefault(types, 0L))));
        return kinds;
    }

    private static String range(List<Integer> blocks) {
        if (blocks.size() == 1) {
            return "layer " + blocks.getFirst();
        }
        boolean dense = blocks.getLast() - blocks.getFirst() == blocks.size() - 1;
        return dense ? "layers " + blocks.getFirst() + " to " + blocks.getLast() : blocks.size() + " layers";
    }

    static String text(long bytes) {
        if (bytes >= 1_000_000_000) {
            return String.format(Locale.ROOT, "%.2f GB", bytes / 1e9);
        }
        return bytes >= 1_000_000
                ? String.format(Locale.ROOT, "%.2f MB", bytes / 1e6)
                : String.format(Locale.ROOT, "%.1f kB", bytes / 1e3);
    }

    Map<String, Object> asMap(ModelFiles files) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("path", files.path().toString());
        map.put("container", files.container().name());
        map.put("files", files.files().size());
        map.put("tensors", files.tensors().size());
        map.put("parameters", parameters);
        map.put("bytes", bytes);
        map.put("expert_bytes", expertBytes);
        List<Object> roles = new ArrayList<>();
        for (Part part : parts) {
            Map<String, Object> role = new LinkedHashMap<>();
            role.put("role", part.role);
            role.put("tensors", part.tensors);
            role.put("parameters", part.elements);
            role.put("bytes", part.bytes);
            role.put("types", part.types);
            roles.add(role);
        }
        map.put("roles", roles);
        return map;
    }
}
