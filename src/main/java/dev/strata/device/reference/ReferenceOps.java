package dev.strata.device.reference;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.ExpertLayer;
import dev.strata.device.HyperWeights;
import dev.strata.device.IndexerShape;
import dev.strata.device.LayerState;
import dev.strata.device.Likeliest;
import dev.strata.device.NgramWeights;
import dev.strata.device.Ops;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Gives every operation to the class that computes it, and remembers what held passes have to replay. */
final class ReferenceOps implements Ops {
    private final Workers workers;
    private final Products products;
    private final ExpertMlp experts;
    private final HyperConnection hyper;
    private final Likeliest likeliest = new Likeliest();
    private final List<HeldWindow> held = new ArrayList<>();

    ReferenceOps(Workers workers) {
        this.workers = workers;
        this.products = new Products(workers);
        this.experts = new ExpertMlp(workers, products);
        this.hyper = new HyperConnection(products);
    }

    @Override
    public void pass(String key, Batch batch, Runnable body) {
        if (batch.hold()) {
            held.clear();
        }
        body.run();
    }

    @Override
    public void embed(Weight table, Batch batch, Tensor out) {
        RowOps.embed(table, batch, out);
    }

    @Override
    public void rmsNorm(Tensor in, Tensor weight, int group, float epsilon, Tensor out) {
        Norms.rms(in, weight, group, epsilon, out);
    }

    @Override
    public void matmul(Weight weight, Tensor in, Tensor out) {
        products.multiply(weight, in, out);
    }

    @Override
    public void matmulAdd(Weight weight, Tensor in, Tensor into) {
        products.multiplyAdd(weight, in, into);
    }

    @Override
    public void add(Tensor addend, Tensor into) {
        RowOps.add(addend, into);
    }

    @Override
    public void repeat(Tensor in, int times, Tensor out) {
        RowOps.repeat(in, times, out);
    }

    @Override
    public void concatenate(Tensor left, Tensor right, Tensor out) {
        RowOps.concatenate(left, right, out);
    }

    @Override
    public void gatherRows(Tensor in, int[] rows, Tensor out) {
        RowOps.gather(in, rows, out);
    }

    @Override
    public void attentionInputs(
            AttentionShape shape,
            Tensor projected,
            Tensor keys,
            Tensor values,
            @Nullable Tensor queryNorm,
            @Nullable Tensor keyNorm,
            LayerState.Kv kv,
            Batch batch,
            Tensor queries,
            @Nullable Tensor gates) {
        AttentionInputs inputs = new AttentionInputs(shape, queryNorm, keyNorm);
        inputs.queries(projected, batch, queries, gates);
        inputs.append(keys, values, (KvPages) kv, batch);
    }

    @Override
    public void attention(
            AttentionShape shape,
            Tensor queries,
            LayerState.Kv kv,
            LayerState.@Nullable Selection selection,
            @Nullable Tensor gates,
            Batch batch,
            Tensor out) {
        new Attention(shape, (KvPages) kv, workers).run(queries, (ChosenBlocks) selection, gates, batch, out);
    }

    @Override
    public void indexKeys(IndexerShape shape, Tensor keys, Tensor keyNorm, LayerState.Index index, Batch batch) {
        new BlockIndexer(shape, workers).append(keys, keyNorm, (IndexPages) index, batch);
    }

    @Override
    public void selectBlocks(
            IndexerShape shape,
            Tensor queries,
            Tensor queryNorm,
            LayerState.Index index,
            Batch batch,
            LayerState.Selection selection) {
        new BlockIndexer(shape, workers)
                .choose(queries, queryNorm, (IndexPages) index, batch, (ChosenBlocks) selection);
    }

    @Override
    public void deltaNet(
            DeltaShape shape,
            DeltaWeights weights,
            Tensor qkv,
            Tensor z,
            Tensor beta,
            Tensor alpha,
            LayerState.Recurrent state,
            Batch batch,
            Tensor out) {
        DeltaNet net = new DeltaNet(shape, weights, workers);
        for (int index = 0; index < batch.segments().size(); index++) {
            Batch.Segment segment = batch.segments().get(index);
            int first = segment.firstRow();
            int rows = segment.rows();
            DeltaNet.Window window = new DeltaNet.Window(
                    Floats.load(qkv, first, rows), Floats.load(beta, first, rows), Floats.load(alpha, first, rows));
            DeltaState.Slot slot = ((DeltaState) state).slot(segment.slot());
            float[] result = net.run(window, rows, batch.hold() ? slot.copy() : slot, Floats.load(z, first, rows));
            Floats.store(result, 0, result.length, out, first);
            if (batch.hold()) {
                held.add(new HeldWindow(index, accepted -> net.run(window, accepted, slot, null)));
            }
        }
    }

    @Override
    public void route(RouterShape shape, Tensor logits, Routing routing) {
        Router.route(shape, logits, routing);
    }

    @Override
    public void expect(ExpertLayer layer, Routing guess, int rows) {
        ((ReferenceExperts) layer).expect(guess.ids().host(), rows * guess.used());
    }

    @Override
    public void experts(ExpertLayer layer, Tensor in, Routing routing, Tensor out) {
        experts.routed((ReferenceExperts) layer, in, routing, out);
    }

    @Override
    public void sharedExpert(SharedExpert expert, Tensor in, Tensor into) {
        experts.shared(expert, in, into);
    }

    @Override
    public void hyperMix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject) {
        hyper.mix(weights, residual, out, inject);
    }

    @Override
    public void hyperInject(Tensor y, Tensor inject, Tensor residual) {
        HyperConnection.inject(y, inject, residual);
    }

    @Override
    public void ngram(NgramWeights weights, Tensor embedding, Tensor residual, LayerState.Ngram state, Batch batch) {
        new NgramLayer(weights, products).run(embedding, residual, (NgramState) state, batch, held);
    }

    @Override
    public void likeliest(Tensor logits, Tensor tokens, Tensor probabilities) {
        likeliest.all(logits, tokens, probabilities);
    }

    @Override
    public void commit(Batch batch, int segment, int accepted) {
        int rows = batch.segments().get(segment).rows();
        if (accepted < 0 || accepted > rows) {
            throw new IllegalArgumentException("cannot accept " + accepted + " of " + rows + " held rows");
        }
        for (HeldWindow window : held) {
            if (window.segment() == segment) {
                window.replay().accept(accepted);
            }
        }
    }

    @Override
    public void write(MemorySegment source, Tensor target) {
        MemorySegment.copy(source, 0, target.buffer().host(), target.offset(), 4L * target.rows() * target.columns());
    }

    @Override
    public void read(Tensor source, MemorySegment target) {
        MemorySegment.copy(source.buffer().host(), source.offset(), target, 0, 4L * source.rows() * source.columns());
    }
}
