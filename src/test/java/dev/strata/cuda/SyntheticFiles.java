package dev.strata.cuda;

import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** A Qwen3-30B-A3B in shape, with made weights: every tensor is a piece of one random pattern of its type. */
final class SyntheticFiles implements ModelFiles {
    private static final int PATTERN_BYTES = 4 << 20;

    private final Arena arena = Arena.ofShared();
    private final Map<String, Object> metadata = new HashMap<>();
    private final Map<String, TensorEntry> tensors = new LinkedHashMap<>();
    private final Map<QuantType, MemorySegment> patterns = new EnumMap<>(QuantType.class);

    SyntheticFiles(int layers, QuantType experts, QuantType dense) {
        int hidden = 2048;
        put("general.architecture", "qwen3moe");
        put("general.name", "synthetic qwen3-30b-a3b");
        key("block_count", layers);
        key("embedding_length", hidden);
        key("context_length", 262144);
        key("attention.head_count", 32);
        key("attention.head_count_kv", 4);
        key("attention.key_length", 128);
        key("attention.value_length", 128);
        key("expert_count", 128);
        key("expert_used_count", 8);
        key("expert_feed_forward_length", 768);
        key("feed_forward_length", 6144);
        put("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6);
        put("qwen3moe.rope.freq_base", 1e6);
        put("tokenizer.ggml.tokens", List.of());
        tensor("token_embd.weight", dense, 151936, hidden);
        tensor("output.weight", dense, 151936, hidden);
        tensor("output_norm.weight", QuantType.F32, hidden);
        for (int layer = 0; layer < layers; layer++) {
            String prefix = "blk." + layer + ".";
            tensor(prefix + "attn_norm.weight", QuantType.F32, hidden);
            tensor(prefix + "ffn_norm.weight", QuantType.F32, hidden);
            tensor(prefix + "attn_q.weight", dense, 4096, hidden);
            tensor(prefix + "attn_k.weight", dense, 512, hidden);
            tensor(prefix + "attn_v.weight", dense, 512, hidden);
            tensor(prefix + "attn_output.weight", dense, hidden, 4096);
            tensor(prefix + "attn_q_norm.weight", QuantType.F32, 128);
            tensor(prefix + "attn_k_norm.weight", QuantType.F32, 128);
            tensor(prefix + "ffn_gate_inp.weight", QuantType.F32, 128, hidden);
            tensor(prefix + "ffn_gate_exps.weight", experts, 128, 768, hidden);
            tensor(prefix + "ffn_up_exps.weight", experts, 128, 768, hidden);
            tensor(prefix + "ffn_down_exps.weight", experts, 128, hidden, 768);
        }
    }

    private void put(String key, Object value) {
        metadata.put(key, value);
    }

    private void key(String name, long value) {
        put("qwen3moe." + name, value);
    }

    private void tensor(String name, QuantType type, long... shape) {
        List<Long> dimensions = new ArrayList<>();
        long elements = 1;
        for (long dimension : shape) {
            dimensions.add(dimension);
            elements *= dimension;
        }
        tensors.put(name, new TensorEntry(name, type, type.name(), dimensions, path(), 0, type.bytes(elements)));
    }

    /** Bytes of weights that a decode step of one row reads. */
    long decodeBytes() {
        long bytes = 0;
        for (TensorEntry tensor : tensors.values()) {
            boolean expert = tensor.name().contains("_exps");
            bytes += tensor.name().startsWith("token_embd") ? 0 : expert ? tensor.bytes() / 128 * 8 : tensor.bytes();
        }
        return bytes;
    }

    @Override
    public Container container() {
        return Container.GGUF;
    }

    @Override
    public Path path() {
        return Path.of("synthetic");
    }

    @Override
    public List<Path> files() {
        return List.of(path());
    }

    @Override
    public Map<String, Object> metadata() {
        return metadata;
    }

    @Override
    public List<TensorEntry> tensors() {
        return List.copyOf(tensors.values());
    }

    @Override
    public Optional<TensorEntry> find(String name) {
        return Optional.ofNullable(tensors.get(name));
    }

    @Override
    public MemorySegment data(TensorEntry tensor) {
        MemorySegment pattern = patterns.computeIfAbsent(tensor.type(), this::pattern);
        long block = tensor.type().blockBytes();
        long shift = Math.floorMod(tensor.name().hashCode(), 1000) * block * 4;
        return pattern.asSlice(shift, tensor.bytes());
    }

    private MemorySegment pattern(QuantType type) {
        long largest = tensors.values().stream()
                .filter(tensor -> tensor.type() == type)
                .mapToLong(TensorEntry::bytes)
                .max()
                .orElse(0);
        long unit = PATTERN_BYTES
                / (256L * type.blockBytes())
                * type.blockBytes()
                * 256
                / type.blockBytes()
                * type.blockBytes();
        int elements = (int) (unit / type.blockBytes() * type.blockElements());
        float[] values = new float[elements];
        Random random = new Random(7);
        boolean norms = type == QuantType.F32;
        for (int i = 0; i < elements; i++) {
            values[i] = (float) (norms ? 0.5 + 0.02 * random.nextGaussian() : 0.02 * random.nextGaussian());
        }
        MemorySegment memory = arena.allocate(largest + unit + 4096L * type.blockBytes(), 64);
        Quants.encode(type, values, 0, elements, memory, 0);
        for (long done = unit; done < memory.byteSize(); done += unit) {
            MemorySegment.copy(memory, 0, memory, done, Math.min(unit, memory.byteSize() - done));
        }
        return memory;
    }

    @Override
    public void close() {
        arena.close();
    }
}
