package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
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

/** Hands every operation to its kernel. An operation is complete when its method returns. */
final class CpuOps implements Ops, AutoCloseable {
    private final long context;
    private final Frequencies frequencies;
    private final ExpertProducts experts;
    private final Likeliest likeliest = new Likeliest();
    private final BatchRecord record = new BatchRecord();
    private final List<HeldState> held = new ArrayList<>();

    CpuOps(CpuContext context, CpuArena arena, int tailSkip) {
        this.context = context.address();
        this.frequencies = new Frequencies(arena);
        this.experts = new ExpertProducts(context, tailSkip);
    }

    @Override
    public void pass(String key, Batch batch, Runnable body) {
        record.write(batch);
        if (batch.hold()) {
            held.clear();
        }
        body.run();
    }

    @Override
    public void embed(Weight table, Batch batch, Tensor out) {
        int[] tokens = batch.tokens();
        for (int r = 0; r < tokens.length; r++) {
            if (tokens[r] < 0 || tokens[r] >= table.outputs()) {
                throw new IllegalArgumentException("token " + tokens[r] + " in row " + r
                        + " is outside the vocabulary of " + table.outputs() + " (" + table.name() + ")");
            }
        }
        CpuKernels.strata_cpu_embed(
                context,
                PackedBuffer.kind(table),
                table.address(),
                table.inputs(),
                table.scale(),
                record.of(batch),
                out.address());
    }

    @Override
    public void rmsNorm(Tensor in, Tensor weight, int group, float epsilon, Tensor out) {
        CpuKernels.strata_cpu_rms_norm(
                context,
                in.address(),
                in.rows(),
                in.columns(),
                weight.address(),
                weight.columns(),
                group,
                epsilon,
                out.address());
    }

    @Override
    public void matmul(Weight weight, Tensor in, Tensor out) {
        product(weight, in, out, 0);
    }

    @Override
    public void matmulAdd(Weight weight, Tensor in, Tensor into) {
        product(weight, in, into, 1);
    }

    private void product(Weight weight, Tensor in, Tensor out, int add) {
        if (in.columns() != weight.inputs() || out.columns() != weight.outputs() || in.rows() != out.rows()) {
            throw new IllegalArgumentException(weight.name() + " [" + weight.outputs() + ", " + weight.inputs()
                    + "] does not take " + in.rows() + " x " + in.columns() + " to " + out.rows() + " x "
                    + out.columns());
        }
        CpuKernels.strata_cpu_matmul(
                context,
                PackedBuffer.kind(weight),
                weight.address(),
                weight.outputs(),
                weight.inputs(),
                weight.scale(),
                in.address(),
                in.rows(),
                out.address(),
                add);
    }

    @Override
    public void add(Tensor addend, Tensor into) {
        CpuKernels.strata_cpu_add(context, addend.address(), (long) into.rows() * into.columns(), into.address());
    }

    @Override
    public void repeat(Tensor in, int times, Tensor out) {
        CpuKernels.strata_cpu_repeat(context, in.address(), in.rows(), in.columns(), times, out.address());
    }

    @Override
    public void concatenate(Tensor left, Tensor right, Tensor out) {
        CpuKernels.strata_cpu_concatenate(
                context, left.address(), left.columns(), right.address(), right.columns(), out.rows(), out.address());
    }

    @Override
    public void gatherRows(Tensor in, int[] rows, Tensor out) {
        long bytes = 4L * in.columns();
        for (int i = 0; i < rows.length; i++) {
            MemorySegment.copy(
                    in.buffer().host(),
                    in.offset() + rows[i] * bytes,
                    out.buffer().host(),
                    out.offset() + i * bytes,
                    bytes);
        }
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
        KvCache cache = (KvCache) kv;
        CpuKernels.strata_cpu_attention_inputs(
                context,
                shape.heads(),
                shape.kvHeads(),
                shape.headSize(),
                shape.rope().width(),
                frequencies.address(shape.rope()),
                shape.rope().magnitude(),
                shape.normEpsilon(),
                projected.address(),
                keys.address(),
                values.address(),
                address(queryNorm),
                address(keyNorm),
                cache.format(),
                cache.keys(),
                cache.values(),
                record.of(batch),
                queries.address(),
                address(gates));
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
        KvCache cache = (KvCache) kv;
        TokenMasks masks = (TokenMasks) selection;
        CpuKernels.strata_cpu_attention(
                context,
                shape.heads(),
                shape.kvHeads(),
                shape.headSize(),
                queries.address(),
                cache.format(),
                cache.keys(),
                cache.values(),
                masks == null ? 0 : masks.address(),
                masks == null ? 0 : masks.pages(),
                address(gates),
                record.of(batch),
                out.address());
    }

    @Override
    public void indexKeys(IndexerShape shape, Tensor keys, Tensor keyNorm, LayerState.Index index, Batch batch) {
        IndexCache cache = (IndexCache) index;
        CpuKernels.strata_cpu_index_keys(
                context,
                shape.headSize(),
                shape.rope().width(),
                frequencies.address(shape.rope()),
                shape.rope().magnitude(),
                shape.normEpsilon(),
                shape.block(),
                keys.address(),
                keyNorm.address(),
                cache.raw(),
                cache.pooled(),
                record.of(batch));
    }

    @Override
    public void selectBlocks(
            IndexerShape shape,
            Tensor queries,
            Tensor queryNorm,
            LayerState.Index index,
            Batch batch,
            LayerState.Selection selection) {
        TokenMasks masks = (TokenMasks) selection;
        CpuKernels.strata_cpu_select_blocks(
                context,
                shape.heads(),
                shape.headSize(),
                shape.rope().width(),
                frequencies.address(shape.rope()),
                shape.rope().magnitude(),
                shape.normEpsilon(),
                shape.block(),
                shape.budgetBlocks(),
                queries.address(),
                queryNorm.address(),
                ((IndexCache) index).pooled(),
                record.of(batch),
                masks.address(),
                masks.pages());
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
        DeltaStates states = (DeltaStates) state;
        if (batch.hold()) {
            states.keep(weights, qkv, beta, alpha);
            held.add(states);
        }
        CpuKernels.strata_cpu_delta_net(
                context,
                shape.keyHeads(),
                shape.valueHeads(),
                shape.keySize(),
                shape.valueSize(),
                shape.kernel(),
                shape.tiledHeads() ? 1 : 0,
                shape.sigmoidGate() ? 1 : 0,
                shape.normEpsilon(),
                states.convolution(weights),
                weights.decay().address(),
                weights.timeBias().address(),
                weights.norm().address(),
                qkv.address(),
                z.address(),
                beta.address(),
                alpha.address(),
                states.matrices(),
                states.past(),
                record.of(batch),
                out.address());
    }

    @Override
    public void route(RouterShape shape, Tensor logits, Routing routing) {
        CpuKernels.strata_cpu_route(
                context,
                shape.experts(),
                shape.used(),
                shape.renormalise() ? 1 : 0,
                shape.scale(),
                logits.address(),
                logits.rows(),
                routing.ids().address(),
                routing.weights().address());
    }

    @Override
    public void expect(ExpertLayer layer, Routing guess, int rows) {
        experts.expect(ExpertTable.of(layer), guess.ids().host(), rows * guess.used());
    }

    @Override
    public void experts(ExpertLayer layer, Tensor in, Routing routing, Tensor out) {
        experts.run(ExpertTable.of(layer), in, routing, out);
    }

    @Override
    public void sharedExpert(SharedExpert expert, Tensor in, Tensor into) {
        Weight gate = expert.gate();
        Weight up = expert.up();
        Weight down = expert.down();
        CpuKernels.strata_cpu_shared_expert(
                context,
                gate.inputs(),
                gate.outputs(),
                PackedBuffer.kind(gate),
                gate.address(),
                gate.scale(),
                PackedBuffer.kind(up),
                up.address(),
                up.scale(),
                PackedBuffer.kind(down),
                down.address(),
                down.scale(),
                address(expert.scalarGate()),
                in.address(),
                in.rows(),
                into.address());
    }

    @Override
    public void hyperMix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject) {
        Weight down = weights.down();
        Weight up = weights.up();
        Weight injectWeight = weights.inject();
        boolean injects = inject != null && injectWeight != null;
        CpuKernels.strata_cpu_hyper_mix(
                context,
                weights.streams(),
                out.columns(),
                down.outputs(),
                weights.epsilon(),
                weights.norm().address(),
                PackedBuffer.kind(down),
                down.address(),
                down.scale(),
                PackedBuffer.kind(up),
                up.address(),
                up.scale(),
                injectWeight == null ? 0 : PackedBuffer.kind(injectWeight),
                injectWeight == null ? 0 : injectWeight.address(),
                injectWeight == null ? 1 : injectWeight.scale(),
                residual.address(),
                residual.rows(),
                out.address(),
                injects ? address(inject) : 0);
    }

    @Override
    public void hyperInject(Tensor y, Tensor inject, Tensor residual) {
        CpuKernels.strata_cpu_hyper_inject(
                context, inject.columns(), y.columns(), y.address(), inject.address(), y.rows(), residual.address());
    }

    @Override
    public void ngram(NgramWeights weights, Tensor embedding, Tensor residual, LayerState.Ngram state, Batch batch) {
        NgramRows rows = (NgramRows) state;
        Weight key = weights.key();
        Weight value = weights.value();
        long kept = 0;
        if (batch.hold()) {
            kept = rows.kept(batch.rows());
            held.add(rows);
        }
        CpuKernels.strata_cpu_ngram(
                context,
                weights.streams(),
                value.outputs(),
                embedding.columns(),
                weights.kernel(),
                weights.dilation(),
                weights.epsilon(),
                PackedBuffer.kind(key),
                key.address(),
                key.scale(),
                PackedBuffer.kind(value),
                value.address(),
                value.scale(),
                weights.normKey().address(),
                weights.normQuery().address(),
                weights.normConvolution().address(),
                rows.convolution(weights),
                embedding.address(),
                residual.address(),
                rows.past(),
                kept,
                record.of(batch));
    }

    @Override
    public void likeliest(Tensor logits, Tensor tokens, Tensor probabilities) {
        likeliest.all(logits, tokens, probabilities);
    }

    @Override
    public void commit(Batch batch, int segment, int accepted) {
        Batch.Segment window = batch.segments().get(segment);
        if (accepted < 0 || accepted > window.rows()) {
            throw new IllegalArgumentException("cannot accept " + accepted + " of " + window.rows() + " held rows");
        }
        for (int i = 0; i < held.size(); i++) {
            held.get(i).commit(context, window, accepted);
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

    private static long address(@Nullable Tensor tensor) {
        return tensor == null ? 0 : tensor.address();
    }

    @Override
    public void close() {
        experts.close();
        record.close();
    }
}
