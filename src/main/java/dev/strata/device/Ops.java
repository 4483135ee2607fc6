package dev.strata.device;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a forward pass, at fused grain. Activations are float32 at this interface; a backend may compute in less inside.
 * Outputs are overwritten unless said otherwise. Inputs and outputs must not overlap unless they are the same tensor and the
 * operation says so. Calls are made by one thread; they may be asynchronous until {@link #read}.
 */
public interface Ops {
    /**
     * Runs {@code body}, which issues the operations of one pass over {@code batch}. A backend may capture them once per
     * {@code key} and replay them later, in which case {@code body} is not called again: it must issue the same operations with the
     * same tensors for equal keys and row counts, and read whatever changes from the batch.
     */
    void pass(String key, Batch batch, Runnable body);

    /**
     * As {@link #pass} for operations over several batches, one after the other, that read and change no recurrent states: drafts. Equal keys
     * mean equal numbers of batches, and equal row counts of the first equal ones of the others. Where {@link #queuesPasses} says so.
     */
    default void passes(String key, List<Batch> batches, Runnable body) {
        throw new UnsupportedOperationException("every batch is a pass of its own here");
    }

    /** Whether operations are computed beside the calling thread, which waits for them in {@link #read}; else they are done when they return. */
    default boolean runsAhead() {
        return false;
    }

    /** Row r of {@code out} becomes row {@code tokens[r]} of {@code table}, dequantized. */
    void embed(Weight table, Batch batch, Tensor out);

    /** As {@link #embed(Weight, Batch, Tensor)} for int32 token ids [rows, 1] that lie on the backend, such as {@link #likeliest} finds. */
    default void embed(Weight table, Tensor tokens, Tensor out) {
        int[] ids = new int[tokens.rows()];
        read(tokens, MemorySegment.ofArray(ids));
        embed(table, Batch.ofTokens(ids), out);
    }

    /** As {@link #embed(Weight, Batch, Tensor)}, or with {@code tokens} in place of the batch's where they are given. */
    default void embed(Weight table, Batch batch, @Nullable Tensor tokens, Tensor out) {
        if (tokens == null) {
            embed(table, batch, out);
        } else {
            embed(table, tokens, out);
        }
    }

    /**
     * RMS norm over every run of {@code group} columns: x / sqrt(mean(x^2) + epsilon) * weight. {@code weight} has one row and is
     * repeated when shorter than the input's columns. {@code out} may be {@code in}.
     */
    void rmsNorm(Tensor in, Tensor weight, int group, float epsilon, Tensor out);

    /** out[r] = scale * W in[r]. */
    void matmul(Weight weight, Tensor in, Tensor out);

    /**
     * Several products of the same rows: {@code outs[i]} as by {@link #matmul} with {@code weights[i]}. A backend may read (and convert)
     * the rows once for all of them.
     */
    default void matmulAll(Weight[] weights, Tensor in, Tensor[] outs) {
        for (int i = 0; i < weights.length; i++) {
            matmul(weights[i], in, outs[i]);
        }
    }

    /** {@link #matmulAll(Weight[], Tensor, Tensor[])} of rows that may be normed on the way. */
    default void matmulAll(Weight[] weights, NormedRows in, Tensor[] outs) {
        matmulAll(weights, in.apply(this), outs);
    }

    /** into[r] += scale * W in[r]. */
    void matmulAdd(Weight weight, Tensor in, Tensor into);

    /**
     * Adds scale * W in[r] to a residual.
     *
     * @param room for [rows, outputs]
     */
    default void matmulInto(Weight weight, Tensor in, Tensor room, Residual into) {
        if (into.inject() == null) {
            matmulAdd(weight, in, into.rows());
        } else {
            matmul(weight, in, room);
            into.add(this, room);
        }
    }

    /** into += addend, same shape. */
    void add(Tensor addend, Tensor into);

    /** Row r of {@code out} is row r of {@code in}, {@code times} over. out.columns = times * in.columns. */
    void repeat(Tensor in, int times, Tensor out);

    /** out[r] = [left[r] | right[r]]. */
    void concatenate(Tensor left, Tensor right, Tensor out);

    /** Row i of {@code out} is row {@code rows[i]} of {@code in}. */
    void gatherRows(Tensor in, int[] rows, Tensor out);

    /** Row s of {@code out} is the last row of segment s. May be part of a captured pass. */
    default void lastRows(Tensor in, Batch batch, Tensor out) {
        gatherRows(in, batch.lastRows(), out);
    }

    /**
     * Splits off the output gates, norms query and key heads (where norm weights are given, [1, headSize]), applies RoPE at the rows'
     * positions and appends keys and values to their pages.
     *
     * @param projected [rows, shape.projectedColumns()]
     * @param keys [rows, kvColumns], values likewise
     * @param queries receives [rows, queryColumns]
     * @param gates receives [rows, queryColumns] when the shape has an output gate
     */
    void attentionInputs(
            AttentionShape shape,
            Tensor projected,
            Tensor keys,
            Tensor values,
            @Nullable Tensor queryNorm,
            @Nullable Tensor keyNorm,
            LayerState.Kv kv,
            Batch batch,
            Tensor queries,
            @Nullable Tensor gates);

    /**
     * Causal attention of every row over its sequence's keys up to its own position, or over the selected blocks and the incomplete
     * tail. The result is multiplied by sigmoid(gates) when given.
     */
    void attention(
            AttentionShape shape,
            Tensor queries,
            LayerState.Kv kv,
            LayerState.@Nullable Selection selection,
            @Nullable Tensor gates,
            Batch batch,
            Tensor out);

    /**
     * {@link #attentionInputs} and {@link #attention} in one. A backend may leave {@code queries} and {@code gates} unwritten.
     *
     * @param queries room for [rows, queryColumns]
     * @param gates room for [rows, queryColumns] when the shape has an output gate
     * @param out room for the result, which may lie where {@code projected} lies
     * @return the result: {@code out}, or memory that holds it until the next call
     */
    default Tensor attend(
            AttentionShape shape,
            Tensor projected,
            Tensor keys,
            Tensor values,
            @Nullable Tensor queryNorm,
            @Nullable Tensor keyNorm,
            LayerState.Kv kv,
            LayerState.@Nullable Selection selection,
            Batch batch,
            Tensor queries,
            @Nullable Tensor gates,
            Tensor out) {
        attentionInputs(shape, projected, keys, values, queryNorm, keyNorm, kv, batch, queries, gates);
        attention(shape, queries, kv, selection, gates, batch, out);
        return out;
    }

    /**
     * Appends raw index keys [rows, headSize]; every block that becomes complete gets its pooled key: mean, norm, RoPE at the position
     * of the block's first token. A block completed by rows that are later given up is computed anew when its tokens are appended again.
     */
    void indexKeys(IndexerShape shape, Tensor keys, Tensor keyNorm, LayerState.Index index, Batch batch);

    /**
     * Chooses blocks for every row: index queries [rows, heads * headSize] are normed and rotated, a block's score is the sum over heads
     * of relu(q . pooled) / sqrt(headSize); the best budgetBlocks complete blocks win, lower index first among equals.
     */
    void selectBlocks(
            IndexerShape shape,
            Tensor queries,
            Tensor queryNorm,
            LayerState.Index index,
            Batch batch,
            LayerState.Selection selection);

    /**
     * Gated DeltaNet: causal convolution with SiLU over {@code qkv} [rows, channels], the gated delta rule, norm per value head and the
     * output gate. Reads and (unless the batch holds) advances the state of every segment's slot.
     *
     * @param z [rows, valueColumns]
     * @param beta [rows, valueHeads], before the sigmoid
     * @param alpha [rows, valueHeads], before softplus
     * @param out [rows, valueColumns]
     */
    void deltaNet(
            DeltaShape shape,
            DeltaWeights weights,
            Tensor qkv,
            Tensor z,
            Tensor beta,
            Tensor alpha,
            LayerState.Recurrent state,
            Batch batch,
            Tensor out);

    /** Chooses experts from router logits [rows, experts]. */
    void route(RouterShape shape, Tensor logits, Routing routing);

    /**
     * Norm, router product and {@link #route} in one.
     *
     * @param logits room for [rows, experts]
     * @return the rows that the experts read: {@code in.scratch()} where there is a norm
     */
    default Tensor route(RouterShape shape, Weight router, NormedRows in, Tensor logits, Routing routing) {
        Tensor x = in.apply(this);
        matmul(router, x, logits);
        route(shape, logits, routing);
        return x;
    }

    /** Tells the router of the layer behind {@code layer}, which may be applied to that one's input to guess what will be needed. */
    default void followedBy(ExpertLayer layer, Weight router) {}

    /** Tells that the next product of {@code layer} will probably use the experts of the first {@code rows} rows of {@code guess}. */
    default void expect(ExpertLayer layer, Routing guess, int rows) {}

    /** out[r] = sum over the row's experts of weight * down(silu(gate x) * (up x)). */
    void experts(ExpertLayer layer, Tensor in, Routing routing, Tensor out);

    /** into[r] += sigmoid(scalarGate . x) * down(silu(gate x) * (up x)); without a scalar gate the factor is 1. */
    void sharedExpert(SharedExpert expert, Tensor in, Tensor into);

    /**
     * Routed experts and the shared one: their sum is added to a residual.
     *
     * @param room for [rows, hidden]
     */
    default void allExperts(
            ExpertLayer layer, @Nullable SharedExpert shared, Tensor in, Routing routing, Tensor room, Residual into) {
        experts(layer, in, routing, room);
        if (shared != null) {
            sharedExpert(shared, in, room);
        }
        into.add(this, room);
    }

    /**
     * Reads a block input from the residual streams [rows, streams * hidden]: n = norm per stream, gate = sigmoid(up silu(down n / streams)),
     * out = mean over streams of gate * n; inject = 2 sigmoid(inject n / streams), [rows, streams], when the module has it.
     */
    void hyperMix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject);

    /** residual stream s += inject[s] * y. */
    void hyperInject(Tensor y, Tensor inject, Tensor residual);

    /**
     * The n-gram layer (section 6.2 of the model's description): adds the gated value and its dilated convolution to the residual streams.
     *
     * @param embedding [rows, embedding columns], the concatenated table rows of every token
     */
    void ngram(NgramWeights weights, Tensor embedding, Tensor residual, LayerState.Ngram state, Batch batch);

    /** Whether {@link #pick} is cheaper than reading all logits of a vocabulary of this size. */
    default boolean picks(int vocabulary) {
        return false;
    }

    /**
     * Sums up rows of logits as {@link Picks} describes. The default computes on the host, outside of captured passes.
     *
     * @param settings [rows, {@value Picks#SETTINGS}]
     * @param out [rows, {@value Picks#COLUMNS}]
     * @param tokens receives int32 ids, [rows, 1]: the token drawn, or the likeliest one where none was to be drawn
     */
    default void pick(Tensor logits, Tensor settings, Tensor out, Tensor tokens) {
        int rows = logits.rows();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(4L * rows * logits.columns(), 64);
            MemorySegment wanted = arena.allocate(4L * rows * Picks.SETTINGS, 64);
            MemorySegment results = arena.allocate(4L * rows * Picks.COLUMNS, 64);
            read(logits, values);
            read(settings, wanted);
            Picks.compute(values, logits.columns(), wanted, rows, results);
            write(results, out);
            Picks picks = new Picks(results);
            int[] ids = new int[rows];
            Arrays.setAll(ids, picks::chosen);
            write(MemorySegment.ofArray(ids), tokens);
        }
    }

    /**
     * The likeliest token of every row of logits, the lowest id among equals.
     *
     * @param tokens receives int32 ids, [rows, 1]
     * @param probabilities receives float32 values, [rows, 1]; NaN when a logit was not finite
     */
    void likeliest(Tensor logits, Tensor tokens, Tensor probabilities);

    /**
     * Whether passes of few rows may be queued behind each other or be one ({@link #passes}), so that one which turns out to be of no use costs
     * less than a look at the results before it.
     */
    default boolean queuesPasses() {
        return false;
    }

    /**
     * Queues a copy to the host of what the tensor holds when the work queued so far is done; {@link #take} gives it. Two copies may be on their
     * way. Where {@link #queuesPasses} says so.
     */
    default void fetch(Tensor source) {
        throw new UnsupportedOperationException("results are there at once");
    }

    /** Waits for the copy that was queued first, and not for work behind it. */
    default void take(MemorySegment target) {
        throw new UnsupportedOperationException("nothing was fetched");
    }

    /** Advances held states of the segment's slot by the first {@code accepted} rows of the last held pass. */
    void commit(Batch batch, int segment, int accepted);

    /** {@link #commit(Batch, int, int)} for all segments. */
    default void commit(Batch batch, int[] accepted) {
        for (int segment = 0; segment < accepted.length; segment++) {
            commit(batch, segment, accepted[segment]);
        }
    }

    /** Copies {@code source} (float32 values) to the tensor. */
    void write(MemorySegment source, Tensor target);

    /**
     * As {@link #write}, for the input of {@link #ngram}: may happen beside the pass before, since nothing else reads it.
     */
    default void writeInput(MemorySegment source, Tensor target) {
        write(source, target);
    }

    /** The coming pass will call {@link #writeInput} for {@code target} on its way: it may happen from here on. */
    default void awaitInput(Tensor target) {}

    /** Waits for all work and copies the tensor's values to {@code target}. */
    void read(Tensor source, MemorySegment target);
}
