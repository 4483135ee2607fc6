package dev.strata.model;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.Quants;
import dev.strata.format.TensorEntry;
import dev.strata.format.safetensors.PackedMatrices;
import dev.strata.memory.Bytes;
import dev.strata.memory.HostMemory;
import dev.strata.model.ngram.FileNgramTable;
import dev.strata.model.ngram.MadeNgramTable;
import dev.strata.model.ngram.MappedNgramTable;
import dev.strata.model.ngram.NgramTable;
import dev.strata.model.ngram.RowDrive;
import dev.strata.model.ngram.RowFormat;
import dev.strata.os.Advice;
import dev.strata.os.Drives;
import dev.strata.os.HostPages;
import dev.strata.os.OperatingSystem;
import dev.strata.os.Outcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the n-gram table (one tensor in GGUF, shards in safetensors) and opens it where it shall be read. */
public final class NgramTables {
    private static final Logger LOG = LoggerFactory.getLogger(NgramTables.class);
    private static final long COPY_PIECE = 32L << 20;

    /** Where rows are read. */
    public enum Access {
        /** From the mapped files while they fit into memory with ease, else past the page cache unless the drive is slow. */
        AUTO,
        /** Row by row, past the page cache, with a cache of rows. */
        DIRECT,
        /** In the mapped files. */
        MAPPED,
        /** The whole table in RAM. */
        RAM
    }

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
    public static NgramTable open(ModelFiles files, Hyperparameters.Ngram ngram) {
        return open(files, ngram, Access.MAPPED);
    }

    /**
     * Opens the table.
     *
     * @throws IllegalStateException with the numbers when it shall be in RAM and does not fit
     */
    public static NgramTable open(ModelFiles files, Hyperparameters.Ngram ngram, Access access) {
        List<TensorEntry> tensors = find(files, ngram);
        QuantType type = tensors.getFirst().type();
        for (TensorEntry tensor : tensors) {
            if (tensor.rowElements() != ngram.rowElements() || tensor.type() != type) {
                throw new ModelFormatException(files.path() + ": tensor " + tensor.name() + " is " + tensor.type() + " "
                        + files.written(tensor.shape()) + ", expected " + type + " rows of " + ngram.rowElements());
            }
        }
        RowFormat format = tensors.getFirst().dtype().equals("F8_E4M3")
                ? new RowFormat(NgramTables::fp8, ngram.rowElements(), ngram.rowElements(), scale(files, tensors))
                : RowFormat.of(type, ngram.rowElements());
        long rows = bytes(tensors) / format.bytes();
        for (int head = 0; head < ngram.heads(); head++) {
            long end = ngram.offsets().get(head) + ngram.sizes().get(head);
            if (end > rows) {
                throw new ModelFormatException(
                        files.path() + ": the n-gram table has " + rows + " rows, head " + head + " needs " + end);
            }
        }
        if (files.makesTensors() && access != Access.RAM && tensors.size() == 1) {
            return new MadeNgramTable(files, tensors.getFirst(), format);
        }
        return switch (access) {
            case RAM -> ram(files, tensors, format);
            case DIRECT -> direct(tensors, format, ngram.heads());
            case MAPPED -> checked(files, tensors, format, ngram.heads());
            case AUTO -> automatic(files, tensors, format, ngram.heads());
        };
    }

    private static long bytes(List<TensorEntry> tensors) {
        return tensors.stream().mapToLong(TensorEntry::bytes).sum();
    }

    private static NgramTable automatic(
            ModelFiles files, List<TensorEntry> tensors, RowFormat format, int rowsPerToken) {
        long bytes = bytes(tensors);
        if (bytes <= HostMemory.read().usable() / 8) {
            return checked(files, tensors, format, rowsPerToken);
        }
        RowDrive drive = measure(tensors.getFirst());
        if (drive.isSlow()) {
            LOG.warn("{}; it is read from the mapped file", drive.line(rowsPerToken));
            return mapped(files, tensors, format);
        }
        LOG.info("{}", drive.line(rowsPerToken));
        return opened(tensors, format);
    }

    private static NgramTable direct(List<TensorEntry> tensors, RowFormat format, int rowsPerToken) {
        RowDrive drive = measure(tensors.getFirst());
        if (drive.isSlow()) {
            LOG.warn("{}", drive.line(rowsPerToken));
        } else {
            LOG.info("{}", drive.line(rowsPerToken));
        }
        return opened(tensors, format);
    }

    /** The mapped table, with a warning when it is large and its spinning drive gives rows slowly. */
    private static NgramTable checked(ModelFiles files, List<TensorEntry> tensors, RowFormat format, int rowsPerToken) {
        Optional<Boolean> rotational = Drives.isRotational(tensors.getFirst().file());
        if (!files.makesTensors() && RowDrive.isDoubtful(rotational, bytes(tensors))) {
            RowDrive drive = measure(tensors.getFirst());
            if (drive.isSlow()) {
                LOG.warn("{}", drive.line(rowsPerToken));
            }
        }
        return mapped(files, tensors, format);
    }

    private static RowDrive measure(TensorEntry tensor) {
        try {
            return RowDrive.measure(tensor.file(), tensor.offset(), tensor.bytes());
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static FileNgramTable opened(List<TensorEntry> tensors, RowFormat format) {
        return FileNgramTable.open(
                tensors.stream()
                        .map(tensor -> new FileNgramTable.Part(tensor.file(), tensor.offset(), tensor.bytes()))
                        .toList(),
                format);
    }

    private static MappedNgramTable mapped(ModelFiles files, List<TensorEntry> tensors, RowFormat format) {
        List<MemorySegment> shards = new ArrayList<>();
        for (TensorEntry tensor : tensors) {
            MemorySegment shard = files.data(tensor);
            if (!files.makesTensors()) {
                // Rows are read at random; reading ahead would fetch a thousand times what is needed.
                Outcome advised = OperatingSystem.current().advise(shard, Advice.RANDOM);
                LOG.debug("{}: random reads advised: {}", tensor.name(), advised.done());
            }
            shards.add(shard);
        }
        return new MappedNgramTable(shards, format, () -> {});
    }

    private static MappedNgramTable ram(ModelFiles files, List<TensorEntry> tensors, RowFormat format) {
        long bytes = bytes(tensors);
        HostMemory host = HostMemory.read();
        if (bytes > host.usable()) {
            throw new IllegalStateException("--ple-io ram: the n-gram table takes " + Bytes.text(bytes) + ", but "
                    + Bytes.text(host.usable()) + " can be used (limit: " + host.tightest()
                    + "); use --ple-io direct");
        }
        HostPages pages = HostPages.allocate(bytes, "n-gram table");
        List<MemorySegment> shards = new ArrayList<>();
        long at = 0;
        for (TensorEntry tensor : tensors) {
            MemorySegment shard = pages.memory().asSlice(at, tensor.bytes());
            long row = format.bytes();
            long piece = Math.max(1, COPY_PIECE / row) * row;
            LongStream.range(0, Math.ceilDiv(tensor.bytes(), piece)).parallel().forEach(number -> {
                long from = number * piece;
                long length = Math.min(piece, tensor.bytes() - from);
                files.copy(tensor, from, length, shard.asSlice(from, length));
            });
            shards.add(shard);
            at += tensor.bytes();
        }
        Outcome locked = pages.lock();
        if (!locked.done()) {
            LOG.warn("the n-gram table is not locked in RAM and may be paged out: {}", locked.reason());
        }
        return new MappedNgramTable(shards, format, pages::close);
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
            throw new ModelFormatException(files.path() + ": tensor " + scale.name() + " has shape "
                    + files.written(scale.shape())
                    + ", expected one factor");
        }
        Quants.decode(scale.type(), files.data(scale), 0, value, 0, 1);
        return value[0];
    }
}
