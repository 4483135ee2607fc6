package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.Buffer;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeviceException;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
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

    /** Keys and values, and for INT8 their scales. */
    record Kv(
            KvFormat format,
            int kvHeads,
            int headSize,
            Buffer keys,
            Buffer values,
            Buffer keyScales,
            Buffer valueScales)
            implements LayerState.Kv, Held {
        static CudaStates.Kv create(CudaDevice device, AttentionShape shape, KvFormat format, int pages) {
            int element = switch (format) {
                case F32 -> 4;
                case F16 -> 2;
                case INT8 -> 1;
                case Q4 ->
                    throw new DeviceException(
                            DeviceException.Kind.UNSUPPORTED,
                            "the CUDA backend has no 4-bit key-value cache: choose --kv f16 or int8");
            };
            long vectors = (long) pages * shape.kvHeads() * Batch.PAGE;
            long scales = format == KvFormat.INT8 ? 2 * vectors * scales(shape.headSize()) : 16;
            return new CudaStates.Kv(
                    format,
                    shape.kvHeads(),
                    shape.headSize(),
                    device.allocate(vectors * shape.headSize() * element, "keys"),
                    device.allocate(vectors * shape.headSize() * element, "values"),
                    device.allocate(scales, "key scales"),
                    device.allocate(scales, "value scales"));
        }

        private static int scales(int headSize) {
            return Math.ceilDiv(headSize, 64);
        }

        /** The number that the kernels know the format by. */
        int code() {
            return switch (format) {
                case F32 -> 0;
                case F16 -> 1;
                case INT8, Q4 -> 2;
            };
        }

        /** Bytes of one page in keys (and in values). */
        long pageBytes() {
            return (long) kvHeads
                    * Batch.PAGE
                    * headSize
                    * (format == KvFormat.F32 ? 4 : format == KvFormat.F16 ? 2 : 1);
        }

        long pageScaleBytes() {
            return format == KvFormat.INT8 ? 2L * kvHeads * Batch.PAGE * scales(headSize) : 0;
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(keys, values, keyScales, valueScales);
        }
    }

    /** Raw and pooled index keys, float32. */
    record Index(int block, int headSize, Buffer raw, Buffer pooled) implements LayerState.Index, Held {
        static CudaStates.Index create(CudaDevice device, IndexerShape shape, int pages) {
            long bytes = 4L * pages * Batch.PAGE * shape.headSize();
            return new CudaStates.Index(
                    shape.block(),
                    shape.headSize(),
                    device.allocate(bytes, "index keys"),
                    device.allocate(bytes / shape.block(), "pooled index keys"));
        }

        long pageBytes() {
            return 4L * Batch.PAGE * headSize;
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
     * window [slot][8][...], which are made when a pass is first held.
     */
    static final class Recurrent implements LayerState.Recurrent {
        private final DeltaShape shape;
        private final Buffer rows;
        private final Buffer matrices;
        private final Window window;

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

        Recurrent(CudaDevice device, DeltaShape shape, int slots) {
            this.shape = shape;
            this.rows = device.allocate(4L * slots * (shape.kernel() - 1) * shape.channels(), "convolution rows");
            this.matrices = device.allocate(
                    4L * slots * shape.valueHeads() * shape.keySize() * shape.valueSize(), "delta states");
            this.window = new Window(device, shape, slots);
        }

        DeltaShape shape() {
            return shape;
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

        long slotRowBytes() {
            return 4L * (shape.kernel() - 1) * shape.channels();
        }

        long slotMatrixBytes() {
            return 4L * shape.valueHeads() * shape.keySize() * shape.valueSize();
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
    record Ngram(int reach, int channels, Buffer rows, Buffer window) implements LayerState.Ngram, Held {
        static CudaStates.Ngram create(CudaDevice device, NgramWeights weights, int slots) {
            int channels = weights.key().outputs();
            return new CudaStates.Ngram(
                    weights.stateRows(),
                    channels,
                    device.allocate(4L * slots * weights.stateRows() * channels, "n-gram rows"),
                    device.allocate(4L * slots * Batch.MAX_WINDOW * channels, "held n-gram rows"));
        }

        long slotBytes() {
            return 4L * reach * channels;
        }

        @Override
        public List<Buffer> buffers() {
            return List.of(rows, window);
        }
    }
}
