package dev.strata.format.pack;

import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.TensorRole;
import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.GgufValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Where the tensors of a model go in a pack. The expert matrices of a block become one tensor {@code blk.N.ffn_pack_exps.weight} of bytes,
 * [experts, stride]: gate, up and down of an expert one behind the other, from a border of {@value #BORDER} bytes on. Their types are in
 * {@value #TYPES_KEY}, {@code GATE UP DOWN} for every block. All other tensors, factors of experts among them, stay as they are.
 */
public final class PackLayout {
    /** Experts start at multiples of this in the file. */
    public static final int BORDER = 64 << 10;

    /** Key whose presence tells a pack. */
    public static final String VERSION_KEY = "strata.pack.version";

    /** Key of the types, one text for every block. */
    public static final String TYPES_KEY = "strata.pack.types";

    private static final String NAME = "ffn_pack_exps.weight";
    private static final List<String> APART =
            List.of("ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight");
    private static final List<String> FUSED = List.of("ffn_gate_up_exps.weight", "ffn_down_exps.weight");

    /**
     * Where a tensor of the model is written.
     *
     * @param index of the tensor in the file
     * @param within bytes before the matrix in the expert's bytes
     * @param matrix bytes of one expert's matrix, 0 for a tensor that is stored as it is
     * @param stride bytes from one expert to the next
     */
    record Place(int index, long within, long matrix, long stride) {}

    private final List<GgufTensor> tensors;
    private final List<GgufTensor> stored = new ArrayList<>();
    private final Place[] places;
    private final SortedMap<Integer, String> types = new TreeMap<>();

    private PackLayout(List<GgufTensor> tensors) {
        this.tensors = List.copyOf(tensors);
        this.places = new Place[tensors.size()];
    }

    /**
     * Plans a pack.
     *
     * @param tensors of the model by their GGUF names
     * @throws ModelFormatException when it has no experts
     */
    public static PackLayout of(List<GgufTensor> tensors) {
        PackLayout layout = new PackLayout(tensors);
        Map<String, Integer> byName = new LinkedHashMap<>();
        for (int i = 0; i < tensors.size(); i++) {
            byName.put(tensors.get(i).name(), i);
        }
        for (int i = 0; i < tensors.size(); i++) {
            if (layout.places[i] == null && !layout.packed(i, byName)) {
                layout.places[i] = new Place(layout.stored.size(), 0, 0, 0);
                layout.stored.add(tensors.get(i));
            }
        }
        if (layout.types.isEmpty()) {
            throw new ModelFormatException("a model without routed experts cannot be packed");
        }
        return layout;
    }

    /** Places all expert matrices of the block that a tensor belongs to; false when it is none of them. */
    private boolean packed(int index, Map<String, Integer> byName) {
        String name = tensors.get(index).name();
        Optional<Integer> block = TensorRole.block(name);
        if (block.isEmpty() || tensors.get(index).shape().size() != 3) {
            return false;
        }
        String prefix = "blk." + block.get() + ".";
        List<String> parts = byName.containsKey(prefix + FUSED.getFirst()) ? FUSED : APART;
        if (!parts.contains(name.substring(prefix.length()))) {
            return false;
        }
        List<GgufTensor> matrices = new ArrayList<>();
        for (String part : parts) {
            Integer at = byName.get(prefix + part);
            if (at == null) {
                throw new ModelFormatException("tensor " + prefix + part + " is missing beside " + name);
            }
            matrices.add(tensors.get(at));
        }
        long experts = matrices.getFirst().shape().getFirst();
        long bytes = 0;
        for (GgufTensor matrix : matrices) {
            bytes += matrix.bytes() / experts;
        }
        long stride = Math.ceilDiv(bytes, BORDER) * BORDER;
        long within = 0;
        for (int i = 0; i < parts.size(); i++) {
            long matrix = matrices.get(i).bytes() / experts;
            int at = java.util.Objects.requireNonNull(byName.get(prefix + parts.get(i)));
            places[at] = new Place(stored.size(), within, matrix, stride);
            within += matrix;
        }
        stored.add(new GgufTensor(prefix + NAME, QuantType.I8, List.of(experts, stride)));
        types.put(
                block.get(),
                matrices.getFirst().type() + " "
                        + matrices.get(parts.size() - 2).type() + " "
                        + matrices.getLast().type());
        return true;
    }

    /** The model's tensors as they are handed over. */
    List<GgufTensor> tensors() {
        return tensors;
    }

    Place place(int index) {
        return places[index];
    }

    /** The tensors of the file. */
    public List<GgufTensor> stored() {
        return stored;
    }

    /** What the file says beside the model's own metadata. */
    public Map<String, GgufValue> metadata() {
        List<String> all = new ArrayList<>();
        for (int block = 0; block <= types.lastKey(); block++) {
            all.add(types.getOrDefault(block, ""));
        }
        Map<String, GgufValue> metadata = new LinkedHashMap<>();
        metadata.put("general.alignment", GgufValue.uint32(BORDER));
        metadata.put(VERSION_KEY, GgufValue.uint32(1));
        metadata.put(TYPES_KEY, GgufValue.infer(all));
        return metadata;
    }

    /** Whether metadata are those of a pack. */
    public static boolean isPack(Map<String, Object> metadata) {
        return metadata.containsKey(VERSION_KEY);
    }

    /** Name of the tensor with the experts of a block. */
    public static String name(int block) {
        return "blk." + block + "." + NAME;
    }

    /**
     * The types of gate, up and down of a block of a pack.
     *
     * @throws ModelFormatException when the metadata do not say
     */
    public static List<QuantType> types(Map<String, Object> metadata, int block) {
        if (metadata.get(VERSION_KEY) instanceof Long version && version != 1) {
            throw new ModelFormatException(
                    "key " + VERSION_KEY + " is " + version + ", this program reads packs of version 1");
        }
        if (metadata.get(TYPES_KEY) instanceof List<?> all && block < all.size()) {
            String[] words = String.valueOf(all.get(block)).split(" ");
            try {
                if (words.length == 3) {
                    return List.of(
                            QuantType.valueOf(words[0]), QuantType.valueOf(words[1]), QuantType.valueOf(words[2]));
                }
            } catch (IllegalArgumentException unknown) {
                throw new ModelFormatException(
                        "key " + TYPES_KEY + " names unknown types for block " + block + ": " + all.get(block),
                        unknown);
            }
        }
        throw new ModelFormatException("key " + TYPES_KEY + " does not give the types of block " + block);
    }
}
