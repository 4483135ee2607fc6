package dev.strata.model;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.model.ngram.MappedNgramTable;
import dev.strata.os.Advice;
import dev.strata.os.OperatingSystem;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds the n-gram table: one tensor in GGUF, shards in safetensors. */
public final class NgramTables {
    private NgramTables() {}

    /** The table's tensors in row order. */
    public static List<TensorEntry> find(ModelFiles files, Hyperparameters.Ngram ngram) {
        List<TensorEntry> tensors = new ArrayList<>();
        if (files.container() == ModelFiles.Container.GGUF) {
            files.find("per_layer_token_embd.weight").ifPresent(tensors::add);
        } else {
            String prefix = HuggingFaceNames.basePrefix(files) + "layers." + ngram.layer()
                    + ".ple.ple_embedding.ngram_embedding.";
            files.find(prefix + "weight").ifPresent(tensors::add);
            Optional<TensorEntry> shard;
            for (int i = 0; (shard = files.find(prefix + "shard_" + i + ".weight")).isPresent(); i++) {
                tensors.add(shard.get());
            }
        }
        if (tensors.isEmpty()) {
            throw new ModelFormatException(files.path() + ": the n-gram table is missing");
        }
        return tensors;
    }

    /** The table in its mapped files. */
    public static MappedNgramTable open(ModelFiles files, Hyperparameters.Ngram ngram) {
        List<TensorEntry> tensors = find(files, ngram);
        QuantType type = tensors.getFirst().type();
        List<MemorySegment> shards = new ArrayList<>();
        for (TensorEntry tensor : tensors) {
            if (tensor.rowElements() != ngram.rowElements() || tensor.type() != type) {
                throw new ModelFormatException(files.path() + ": tensor " + tensor.name() + " is " + tensor.type() + " "
                        + tensor.shape() + ", expected " + type + " rows of " + ngram.rowElements());
            }
            MemorySegment shard = files.data(tensor);
            if (!files.makesTensors()) {
                // Rows are read at random; reading ahead would fetch a thousand times what is needed.
                OperatingSystem.current().advise(shard, Advice.RANDOM);
            }
            shards.add(shard);
        }
        MappedNgramTable table = tensors.getFirst().dtype().equals("F8_E4M3")
                ? new MappedNgramTable(
                        shards, NgramTables::fp8, ngram.rowElements(), ngram.rowElements(), scale(files, tensors))
                : new MappedNgramTable(shards, type, ngram.rowElements());
        for (int head = 0; head < ngram.heads(); head++) {
            long end = ngram.offsets().get(head) + ngram.sizes().get(head);
            if (end > table.rows()) {
                throw new ModelFormatException(files.path() + ": the n-gram table has " + table.rows() + " rows, head "
                        + head + " needs " + end);
            }
        }
        return table;
    }

    private static void fp8(MemorySegment source, long offset, float[] target, int count) {
        for (int i = 0; i < count; i++) {
            target[i] = PackedMatrices.fp8(source.get(ValueLayout.JAVA_BYTE, offset + i));
        }
    }

    /** The one factor on the values of an FP8 table. */
    private static float scale(ModelFiles files, List<TensorEntry> tensors) {
        String first = tensors.getFirst().name();
        String whole = first.replaceFirst("shard_0\\.weight$", "weight");
        TensorEntry scale = files.find(whole + "_scale")
                .orElseThrow(() -> new ModelFormatException(
                        files.path() + ": tensor " + whole + "_scale of the FP8 n-gram table is missing"));
        float[] value = new float[1];
        if (scale.elements() != 1) {
            throw new ModelFormatException(files.path() + ": tensor " + scale.name() + " has shape " + scale.shape()
                    + ", expected one factor");
        }
        Quants.decode(scale.type(), files.data(scale), 0, value, 0, 1);
        return value[0];
    }
}
