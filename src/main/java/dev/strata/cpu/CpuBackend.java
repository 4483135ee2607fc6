package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeviceException;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertSource;
import dev.strata.device.HostTensor;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.Ops;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;

/** C++ kernels on the host's processor. Weights and experts are read where they lie, or copied into huge pages, some of them packed. */
public final class CpuBackend implements Backend {
    private final CpuContext context;
    private final CpuArena arena = new CpuArena();
    private final WeightPages pages;
    private final CpuOps ops;

    private CpuBackend(CpuContext context, CpuSettings settings) {
        this.context = context;
        this.pages = new WeightPages(context, arena, settings.hugeWeights(), settings.packedWeights());
        this.ops = new CpuOps(context, arena, settings.tailSkip());
    }

    /** Whether the kernels were built and load on this system. */
    public static boolean isAvailable() {
        return CpuLibrary.reason().isEmpty();
    }

    /** Why the kernels cannot be used; empty when they can. */
    public static String reason() {
        return CpuLibrary.reason();
    }

    /**
     * Starts the threads.
     *
     * @throws DeviceException of kind UNAVAILABLE with {@link #reason}
     */
    public static CpuBackend create(CpuSettings settings) {
        if (!isAvailable()) {
            throw new DeviceException(
                    DeviceException.Kind.UNAVAILABLE, "the CPU kernels are not available: " + reason());
        }
        return new CpuBackend(CpuContext.open(settings), settings);
    }

    /** {@link #create(CpuSettings)} with one thread for every processor. */
    public static CpuBackend create() {
        return create(CpuSettings.standard());
    }

    @Override
    public String name() {
        return "cpu";
    }

    /** The instruction set in use. */
    public CpuIsa isa() {
        return context.isa();
    }

    @Override
    public String description() {
        return CpuLibrary.processor() + ", " + context.isa().label() + " kernels, " + context.threads()
                + (context.threads() == 1 ? " thread" : " threads");
    }

    @Override
    public Ops ops() {
        return ops;
    }

    @Override
    public Tensor tensor(int rows, int columns, String purpose) {
        return new Tensor(arena.allocate(4L * rows * columns, purpose), 0, rows, columns);
    }

    @Override
    public Weight weight(HostTensor tensor) {
        return new Weight(
                tensor.name(),
                tensor.type(),
                tensor.outputs(),
                tensor.inputs(),
                pages.place(tensor),
                0,
                tensor.scale());
    }

    @Override
    public Tensor parameter(HostTensor tensor) {
        Tensor parameter = tensor(tensor.outputs(), tensor.inputs(), tensor.name());
        CpuKernels.strata_cpu_decode(
                context.address(),
                tensor.type().id(),
                tensor.data().address(),
                parameter.address(),
                (long) tensor.outputs() * tensor.inputs(),
                tensor.scale());
        return parameter;
    }

    @Override
    public ExpertLayer experts(ExpertSource source, int layer) {
        return new ExpertTable(source, layer, arena, pages);
    }

    @Override
    public Routing routing(int rows, int used) {
        return new CpuRouting(
                rows, used, arena.allocate(4L * rows * used, "expert ids"), tensor(rows, used, "expert weights"));
    }

    @Override
    public LayerState.Kv kv(AttentionShape shape, KvFormat format, int pages) {
        return KvCache.create(shape, format, pages);
    }

    @Override
    public LayerState.Index index(IndexerShape shape, int pages) {
        return new IndexCache(shape, pages);
    }

    @Override
    public LayerState.Selection selection(IndexerShape shape, int rows, int contextTokens) {
        return new TokenMasks(rows, contextTokens);
    }

    @Override
    public LayerState.Recurrent recurrent(DeltaShape shape, int slots) {
        return new DeltaStates(shape, slots);
    }

    @Override
    public LayerState.Ngram ngram(NgramWeights weights, int slots) {
        return new NgramRows(weights, slots);
    }

    @Override
    public void close() {
        context.close();
        ops.close();
        arena.close();
    }
}
