package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.Buffer;
import dev.strata.device.DeltaShape;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.StateUnits;
import java.util.List;

/** The states of layers in device memory. Layouts are described where the kernels are. */
final class CudaStates {
    private CudaStates() {}

    /** A state that consists of whole buffers. */
    sealed interface Held extends LayerState {
        List<Buffer> buffers();

        @Override
        default long bytes() {
            return buffers().stream().mapToLong(Buffer::bytes).sum();
        }

        @Override
        default void close() {
            buffers().forEach(Buffer::close);
        }
    }

    /** Keys and values, and for INT8 and Q4 their scales. */
    record Kv(
            KvFormat format,
            int headSize,
            Buffer keys,
            Buffer values,
            Buffer keyScales,
            Buffer valueScales,
            StateUnits pages)
            implements LayerState.Kv, Held {
        static CudaStates.Kv create(CudaUnits.Access access, AttentionShape shape, KvFormat format, int pages) {
            CudaDevice device = access.device();
            format.require(shape.headSize());
            int bits = switch (format) {
                case F32 -> 32;
                case F16 -> 16;
                case INT8 -> 8;
                case Q4 -> 4;
            };
            long vectors = (long) pages * shape.kvHeads() * Batch.PAGE;
            long bytes = vectors * shape.headSize() * bits / 8;
            long scales = bits < 16 ? 2 * vectors * scales(shape.headSize()) : 0;
            Buffer keys = device.allocate(bytes, "keys");
            Buffer values = device.allocate(bytes, "values");
            Buffer keyScales = device.allocate(scales, "key scales");
            Buffer valueScales = device.allocate(scales, "value scales");
            long pageBytes = bytes / pages;
            StateUnits units = access.units(
                    new CudaUnits.Part(keys, pageBytes),
                    new CudaUnits.Part(values, pageBytes),
                    new CudaUnits.Part(keyScales, scales / pages),
                    new CudaUnits.Part(valueScales, scales / pages));
            return new CudaStates.Kv(format, shape.headSize(), keys, values, keyScales, valueScales, units);
        }

        private static int scales(int headSize) {
            return Math.ceilDiv(headSize, 64);
        }

        /** The number that the kernels know the format by. */
        int code() {
            return switch (format) {
                case F32 -> 0;
                case F16 -> 1;
                case INT8 -> 2;
                case Q4 -> 3;
            };
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(keys, values, keyScales, valueScales);
        }
    }

    /** Raw and pooled index keys, float32. */
    record Index(Buffer raw, Buffer pooled, StateUnits pages) implements LayerState.Index, Held {
        static CudaStates.Index create(CudaUnits.Access access, IndexerShape shape, int pages) {
            long pageBytes = 4L * Batch.PAGE * shape.headSize();
            Buffer raw = access.device().allocate(pages * pageBytes, "index keys");
            Buffer pooled = access.device().allocate(pages * pageBytes / shape.block(), "pooled index keys");
            StateUnits units = access.units(
                    new CudaUnits.Part(raw, pageBytes), new CudaUnits.Part(pooled, pageBytes / shape.block()));
            return new CudaStates.Index(raw, pooled, units);
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(raw, pooled);
        }
    }

    /** Chosen blocks of every row: their number, -1 for all, and their indices. */
    record Selection(int block, int budget, Buffer counts, Buffer blocks) implements LayerState.Selection, Held {
        static CudaStates.Selection create(CudaDevice device, IndexerShape shape, int rows) {
            return new CudaStates.Selection(
                    shape.block(),
                    shape.budgetBlocks(),
                    device.allocate(4L * rows, "numbers of chosen blocks"),
                    device.allocate(4L * rows * shape.budgetBlocks(), "chosen blocks"));
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(counts, blocks);
        }
    }

    /**
     * DeltaNet: convolution rows [slot][kernel - 1][channels], matrices [slot][value head][value size][key size], and the inputs of a held
     * pass [row][...], which are made when a pass is first held.
     */
    static final class Recurrent implements LayerState.Recurrent {
        private final Buffer rows;
        private final Buffer matrices;
        private final Window window;
        private final StateUnits slots;

        /** The inputs that a held pass saves, made on first use. */
        private static final class Window {
            private final CudaDevice device;
            private final DeltaShape shape;
            private final int slots;
            private List<Buffer> buffers = List.of();

            Window(CudaDevice device, DeltaShape shape, int slots) {
                this.device = device;
                this.shape = shape;
                this.slots = slots;
            }

            List<Buffer> get() {
                if (buffers.isEmpty()) {
                    long rows = 4L * slots * Batch.MAX_WINDOW;
                    buffers = List.of(
                            device.allocate(rows * shape.channels(), "held delta inputs"),
                            device.allocate(rows * shape.valueHeads(), "held delta beta"),
                            device.allocate(rows * shape.valueHeads(), "held delta alpha"));
                }
                return buffers;
            }
        }

        Recurrent(CudaUnits.Access access, DeltaShape shape, int slots) {
            CudaDevice device = access.device();
            this.rows = device.allocate(4L * slots * (shape.kernel() - 1) * shape.channels(), "convolution rows");
            this.matrices = device.allocate(
                    4L * slots * shape.valueHeads() * shape.keySize() * shape.valueSize(), "delta states");
            this.window = new Window(device, shape, slots);
            this.slots = access.units(
                    new CudaUnits.Part(rows, rows.bytes() / slots),
                    new CudaUnits.Part(matrices, matrices.bytes() / slots));
        }

        Buffer rows() {
            return rows;
        }

        Buffer matrices() {
            return matrices;
        }

        /** Saved qkv, beta and alpha. */
        List<Buffer> window() {
            return window.get();
        }

        @Override
        public StateUnits slots() {
            return slots;
        }

        @Override
        public long bytes() {
            return rows.bytes() + matrices.bytes();
        }

        @Override
        public void close() {
            rows.close();
            matrices.close();
            window.buffers.forEach(Buffer::close);
        }
    }

    /** The n-gram layer's past rows [slot][reach][channels], and those of a held window. */
    record Ngram(int reach, int channels, Buffer rows, Buffer window, StateUnits slots)
            implements LayerState.Ngram, Held {
        static CudaStates.Ngram create(CudaUnits.Access access, NgramWeights weights, int slots) {
            int channels = weights.key().outputs();
            long slotBytes = 4L * weights.stateRows() * channels;
            Buffer rows = access.device().allocate(slots * slotBytes, "n-gram rows");
            Buffer window = access.device().allocate(4L * slots * Batch.MAX_WINDOW * channels, "held n-gram rows");
            return new CudaStates.Ngram(
                    weights.stateRows(), channels, rows, window, access.units(new CudaUnits.Part(rows, slotBytes)));
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(rows, window);
        }
    }
}
