package dev.strata.synth;

import dev.strata.format.MappedFile;
import dev.strata.format.convert.Conversion;
import dev.strata.format.convert.ConversionPlan;
import dev.strata.format.convert.OutputTensor;
import dev.strata.format.convert.ShapeMetadata;
import dev.strata.format.convert.TypePlan;
import dev.strata.format.gguf.GgufHeader;
import dev.strata.format.gguf.GgufReader;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufValueType;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** A synthetic model as a conversion whose source is a random generator. */
public final class SynthModel {
    private SynthModel() {}

    /** Plans metadata and tensors of a specification. */
    public static Conversion plan(SynthSpec spec) {
        return plan(SynthShape.load(spec.shape()), spec);
    }

    /** Plans a model of any shape. */
    static Conversion plan(SynthShape whole, SynthSpec spec) {
        SynthShape shape = spec.layers() > 0 ? whole.withLayers(spec.layers()) : whole;
        Map<String, GgufValue> metadata =
                new LinkedHashMap<>(ShapeMetadata.of(Path.of(shape.name() + "-synthetic"), shape.config()));
        long ngramRows = 0;
        if (shape.has("ngram_size")) {
            ngramRows = ngram(shape, spec, metadata);
        }
        metadata.putAll(tokenizer(shape.size("vocab_size")));
        List<OutputTensor> tensors = SynthTensors.of(shape, spec, ngramRows);
        ConversionPlan plan = new ConversionPlan(metadata, tensors, List.of());
        return Conversion.of(plan, TypePlan.parse("keep"));
    }

    private static long ngram(SynthShape shape, SynthSpec spec, Map<String, GgufValue> metadata) {
        int heads = shape.size("heads_per_ngram") * (shape.size("ngram_size") - 1);
        NgramSizes sizes = NgramSizes.of(
                heads,
                spec.ngramRows(),
                shape.size("ngram_size"),
                shape.size("vocab_size"),
                shape.size("make_ngram_vocab_size_divisible_by"));
        String prefix = "qwen4exp.";
        metadata.put(
                prefix + "embedding_length_per_layer_input", GgufValue.uint32(shape.size("ple_embed_dim") / heads));
        metadata.put(prefix + "ple.layer_multipliers", GgufValue.array(GgufValueType.UINT64, sizes.multipliers()));
        metadata.put(prefix + "ple.head_offsets", GgufValue.array(GgufValueType.UINT64, sizes.offsets()));
        metadata.put(prefix + "ple.head_vocab_sizes", GgufValue.array(GgufValueType.UINT64, sizes.sizes()));
        return sizes.rows();
    }

    /** The tokenizer and chat template of strata-tiny, filled up with unused tokens. */
    private static Map<String, GgufValue> tokenizer(int vocabulary) {
        Map<String, GgufValue> entries = new LinkedHashMap<>();
        try (InputStream stream = SynthModel.class.getResourceAsStream("tokenizer.gguf.gz")) {
            if (stream == null) {
                throw new IllegalStateException("resource tokenizer.gguf.gz is missing from the build");
            }
            byte[] bytes = new GZIPInputStream(stream).readAllBytes();
            GgufHeader header =
                    GgufReader.read(new MappedFile(Path.of("tokenizer.gguf"), MemorySegment.ofArray(bytes)));
            header.metadata().forEach((key, value) -> {
                if (key.startsWith("tokenizer.")) {
                    entries.put(key, GgufValue.infer(value));
                }
            });
        } catch (IOException exception) {
            throw new UncheckedIOException(exception);
        }
        pad(entries, "tokenizer.ggml.tokens", GgufValueType.STRING, vocabulary);
        pad(entries, "tokenizer.ggml.token_type", GgufValueType.INT32, vocabulary);
        return entries;
    }

    private static void pad(Map<String, GgufValue> entries, String key, GgufValueType type, int vocabulary) {
        GgufValue known = entries.get(key);
        List<Object> values = new ArrayList<>(known == null ? List.of() : (List<?>) known.value());
        while (values.size() < vocabulary) {
            values.add(type == GgufValueType.STRING ? "[PAD" + values.size() + "]" : (Object) 5L);
        }
        entries.put(key, GgufValue.array(type, values));
    }
}
