package dev.strata.device.reference;

import dev.strata.device.AttentionShape;
import dev.strata.device.Backend;
import dev.strata.device.DeltaShape;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertSource;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostTensor;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.Ops;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.util.ArrayList;
import java.util.List;

/** Plain Java on the host's processor: weights are read where they lie. */
public final class ReferenceBackend implements Backend {
    private final Workers workers;
    private final ReferenceOps ops;
    private final List<HostBuffer> buffers = new ArrayList<>();

    private ReferenceBackend(int threads) {
        this.workers = new Workers(threads);
        this.ops = new ReferenceOps(workers);
    }

    /** A backend that splits large products over all processors. */
    public static ReferenceBackend create() {
        return create(Runtime.getRuntime().availableProcessors());
    }

    /** A backend with {@code threads} threads; 1 computes everything on the caller's. */
    public static ReferenceBackend create(int threads) {
        return new ReferenceBackend(threads);
    }

    @Override
    public String name() {
        return "reference";
    }

    @Override
    public String description() {
        return "plain Java " + Runtime.version().feature() + ", " + workers.threads() + " threads";
    }

    @Override
    public boolean batchInvariant() {
        return true;
    }

    @Override
    public Ops ops() {
        return ops;
    }

    @Override
    public Tensor tensor(int rows, int columns, String purpose) {
        return new Tensor(allocate(4L * rows * columns), 0, rows, columns);
    }

    @Override
    public Weight weight(HostTensor tensor) {
        return new Weight(
                tensor.name(),
                tensor.type(),
                tensor.outputs(),
                tensor.inputs(),
                HostBuffer.of(tensor.data()),
                0,
                tensor.scale());
    }

    @Override
    public Tensor parameter(HostTensor tensor) {
        Tensor parameter = tensor(tensor.outputs(), tensor.inputs(), tensor.name());
        float[] row = new float[tensor.inputs()];
        for (int i = 0; i < tensor.outputs(); i++) {
            Products.decode(tensor.type(), tensor.data(), i * tensor.type().bytes(tensor.inputs()), row, row.length);
            for (int j = 0; j < row.length; j++) {
                row[j] *= tensor.scale();
            }
            Floats.store(row, 0, row.length, parameter, i);
        }
        return parameter;
    }

    @Override
    public ExpertLayer experts(ExpertSource source, int layer) {
        return new ReferenceExperts(source, layer);
    }

    @Override
    public Routing routing(int rows, int used) {
        return new ReferenceRouting(rows, used, allocate(4L * rows * used), tensor(rows, used, "router weights"));
    }

    @Override
    public LayerState.Kv kv(AttentionShape shape, KvFormat format, int pages) {
        return KvPages.create(shape, format, pages);
    }

    @Override
    public LayerState.Index index(IndexerShape shape, int pages) {
        return new IndexPages(shape, pages);
    }

    @Override
    public LayerState.Selection selection(IndexerShape shape, int rows, int contextTokens) {
        return new ChosenBlocks(shape.block(), rows);
    }

    @Override
    public LayerState.Recurrent recurrent(DeltaShape shape, int slots) {
        return new DeltaState(shape, slots);
    }

    @Override
    public LayerState.Ngram ngram(NgramWeights weights, int slots) {
        return new NgramState(weights, slots);
    }

    private HostBuffer allocate(long bytes) {
        HostBuffer buffer = HostBuffer.allocate(bytes);
        buffers.add(buffer);
        return buffer;
    }

    @Override
    public void close() {
        workers.close();
        buffers.forEach(HostBuffer::close);
        buffers.clear();
    }
}
