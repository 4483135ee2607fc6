package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.Buffer;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeviceException;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.ExpertSource;
import dev.strata.device.HostTensor;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.Ops;
import dev.strata.device.PromptMemory;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.format.QuantType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One NVIDIA card. Weights, states and, without a placement, all experts lie in its memory. One thread uses it. */
public final class CudaBackend implements Backend {
    private static final long STAGING_PIECE_BYTES = 4L << 20;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Staging staging;
    private final ChunkMemory chunk;
    private final CudaUnits.Access states;
    private final Kernels kernels;
    private final CudaOps ops;
    private final CudaOptions options;
    private final Transcoder transcoder;
    private final ExpertUploader uploader;
    private final List<AutoCloseable> owned = new ArrayList<>();

    private CudaBackend(CudaDevice device, CudaStream stream, Kernels kernels, CudaOptions options) {
        this.device = device;
        this.stream = stream;
        this.kernels = kernels;
        this.options = options;
        this.staging = new Staging(device, stream, STAGING_PIECE_BYTES);
        this.states = new CudaUnits.Access(device, stream, staging, this::settleStates);
        this.chunk = new ChunkMemory(device, stream);
        this.ops = new CudaOps(device, stream, staging, kernels, options, chunk);
        this.transcoder = new Transcoder(options.precision());
        this.uploader = new ExpertUploader(device, stream, transcoder);
    }

    /**
     * Opens the card that the options name, with the kernels of this build.
     *
     * @throws DeviceException of kind UNAVAILABLE without driver or card, UNSUPPORTED when the build has no kernels for it
     */
    public static CudaBackend create(CudaOptions options) {
        return create(options, KernelImages.standard(options));
    }

    static CudaBackend create(CudaOptions options, KernelImages images) {
        CudaDevice device = CudaDevice.open(options);
        try {
            return new CudaBackend(
                    device, CudaStream.create("operations"), Kernels.load(images, device.computeCapability()), options);
        } catch (RuntimeException e) {
            device.close();
            throw e;
        }
    }

    private void settleStates() {
        ops.settleStates();
    }

    /** The card, for those that place experts on it. */
    public CudaDevice device() {
        return device;
    }

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public String description() {
        return device.description();
    }

    @Override
    public Ops ops() {
        return ops;
    }

    @Override
    public Tensor tensor(int rows, int columns, String purpose) {
        ops.memoryMade();
        Buffer buffer = chunk.splits(rows)
                ? chunk.buffer(purpose, rows, 4L * columns)
                : device.allocate(4L * rows * columns, purpose);
        return new Tensor(buffer, 0, rows, columns);
    }

    @Override
    public Optional<PromptMemory> promptMemory() {
        return Optional.of(chunk);
    }

    @Override
    public void enter(int rows) {
        ops.enter(rows);
    }

    @Override
    public Weight weight(HostTensor tensor) {
        QuantType type = transcoder.onCard(tensor.type());
        long bytes = type.bytes(tensor.inputs()) * tensor.outputs();
        Buffer buffer = owned(device.allocate(bytes, tensor.name()));
        if (type == tensor.type()) {
            staging.write(tensor.data(), buffer.address());
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment decoded = arena.allocate(bytes, 64);
                transcoder.copy(tensor.type(), tensor.data(), 0, type, decoded, 0, tensor.outputs(), tensor.inputs());
                staging.write(decoded, buffer.address());
            }
        }
        return new Weight(tensor.name(), type, tensor.outputs(), tensor.inputs(), buffer, 0, tensor.scale());
    }

    @Override
    public Tensor parameter(HostTensor tensor) {
        int count = tensor.outputs() * tensor.inputs();
        Buffer buffer = owned(device.allocate(4L * count, tensor.name()));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment decoded = arena.allocate(4L * count, 64);
            float[] row = new float[tensor.inputs()];
            for (int i = 0; i < tensor.outputs(); i++) {
                dev.strata.format.Quants.decode(
                        tensor.type(), tensor.data(), i * tensor.type().bytes(tensor.inputs()), row, 0, row.length);
                for (int j = 0; j < row.length; j++) {
                    row[j] *= tensor.scale();
                }
                MemorySegment.copy(
                        row, 0, decoded, java.lang.foreign.ValueLayout.JAVA_FLOAT, 4L * i * row.length, row.length);
            }
            staging.write(decoded, buffer.address());
        }
        return new Tensor(buffer, 0, tensor.outputs(), tensor.inputs());
    }

    @Override
    public ExpertLayer experts(ExpertSource source, int layer) {
        CudaExpertLayer uploaded = uploader.upload(source, layer);
        if (uploaded.resident() != null && uploaded.residentTable() != null) {
            owned(uploaded.resident());
            owned(uploaded.residentTable());
        }
        if (layer == source.layers() - 1) {
            uploader.release();
        }
        return uploaded;
    }

    @Override
    public ExpertLayer experts(ExpertPlacement placement, int layer) {
        ExpertLayout layout = placement.layout(layer);
        if (!transcoder.onCard(layout).equals(layout)) {
            throw new DeviceException(
                    DeviceException.Kind.UNSUPPORTED,
                    "experts of layer " + layer + " are stored as " + layout.gateType() + ", " + layout.upType()
                            + " and " + layout.downType()
                            + ", which the card cannot read as they are: convert the model with strata convert");
        }
        ops.add(placement, layer);
        return new CudaExpertLayer(layer, layout, null, null, placement);
    }

    @Override
    public Routing routing(int rows, int used) {
        Buffer ids = owned(device.allocate(4L * rows * used, "expert ids"));
        Buffer weights = owned(device.allocate(4L * rows * used, "expert weights"));
        return new CudaRouting(rows, used, ids, new Tensor(weights, 0, rows, used));
    }

    private record CudaRouting(int rows, int used, Buffer ids, Tensor weights) implements Routing {}

    @Override
    public LayerState.Kv kv(AttentionShape shape, KvFormat format, int pages) {
        ops.memoryMade();
        CudaStates.Kv kv = CudaStates.Kv.create(states, shape, format, pages);
        // Whole pages are multiplied, with weight 0 where nothing was written: that must be a number.
        device.fill(kv.values(), 0, kv.values().bytes(), 0, stream);
        return kv;
    }

    @Override
    public LayerState.Index index(IndexerShape shape, int pages) {
        ops.memoryMade();
        return CudaStates.Index.create(states, shape, pages);
    }

    @Override
    public LayerState.Selection selection(IndexerShape shape, int rows, int contextTokens) {
        ops.memoryMade();
        return CudaStates.Selection.create(device, shape, rows);
    }

    @Override
    public LayerState.Recurrent recurrent(DeltaShape shape, int slots) {
        ops.memoryMade();
        return new CudaStates.Recurrent(states, shape, slots);
    }

    @Override
    public LayerState.Ngram ngram(NgramWeights weights, int slots) {
        ops.memoryMade();
        return CudaStates.Ngram.create(states, weights, slots);
    }

    private Buffer owned(Buffer buffer) {
        ops.memoryMade();
        owned.add(buffer);
        return buffer;
    }

    @Override
    public void promptGoesOn() {
        ops.promptGoesOn();
    }

    @Override
    public void promptFinished() {
        ops.promptFinished();
    }

    @Override
    public boolean batchInvariant() {
        return options.deterministic();
    }

    @Override
    public void close() {
        stream.synchronize();
        uploader.close();
        chunk.close();
        ops.close();
        for (AutoCloseable one : owned) {
            try {
                one.close();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("device memory could not be given back", e);
            }
        }
        owned.clear();
        kernels.close();
        staging.close();
        stream.close();
        device.close();
    }
}
