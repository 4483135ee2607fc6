package dev.strata.cuda;

import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.DeltaWeights;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.HyperWeights;
import dev.strata.device.IndexerShape;
import dev.strata.device.LayerState;
import dev.strata.device.NgramWeights;
import dev.strata.device.NormedRows;
import dev.strata.device.Ops;
import dev.strata.device.Residual;
import dev.strata.device.RouterShape;
import dev.strata.device.Routing;
import dev.strata.device.SharedExpert;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Gives every operation to the class that launches its kernels. */
final class CudaOps implements Ops, AutoCloseable {
    private final CudaDevice device;
    private final CudaStream stream;
    private final Launcher launcher;
    private final Scratch scratch;
    private final Staging staging;
    private final Transfers transfers;
    private final StepRecord step;
    private final RopeTables ropes;
    private final HeldStates held = new HeldStates();
    private final CudaPasses passes;
    private final Kernel nothing;
    private final SampleKernels samples;
    private final StoredTypes types;
    private final Activations activations;
    private final DecodeProducts decodeProducts;
    private final RowHyper rowHyper;
    private final Products products;
    private final RowKernels rows;
    private final AttentionKernels attention;
    private final DecodeAttention decodeAttention;
    private final IndexKernels index;
    private final DeltaKernels delta;
    private final NgramKernels ngram;
    private final MissKernels misses;
    private final LayerExperts experts;
    private final BlobCopies copies;

    CudaOps(
            CudaDevice device,
            CudaStream stream,
            Staging staging,
            Kernels kernels,
            CudaOptions options,
            ChunkMemory chunk) {
        this.device = device;
        this.stream = stream;
        this.staging = staging;
        this.launcher = new Launcher(stream, options.overlap() && device.computeCapability() >= 90);
        this.transfers = new Transfers(device, stream, staging);
        this.scratch = new Scratch(device, stream, chunk);
        this.step = new StepRecord(device, stream, staging);
        this.ropes = new RopeTables(device, staging);
        this.samples = new SampleKernels(launcher, scratch, kernels);
        this.nothing = kernels.get("nothing");
        this.types = new StoredTypes(kernels, device.sharedMemoryOfABlock());
        this.activations = new Activations(launcher, scratch, kernels);
        DecodeForms forms = new DecodeForms(options);
        this.passes =
                new CudaPasses(device, stream, staging, launcher, scratch, step, chunk, held, activations, options);
        int processors = device.multiprocessors();
        // Behind what the kernels declare themselves.
        int sharedBytes = device.sharedMemoryOfABlock() - (8 << 10);
        IntegerRow integers = new IntegerRow(launcher, scratch);
        RowDecode rowDecode = new RowDecode(launcher, kernels, integers, sharedBytes, processors);
        this.decodeProducts = new DecodeProducts(launcher, kernels, types, forms, rowDecode, sharedBytes);
        this.rowHyper = new RowHyper(launcher, scratch, rowDecode, forms, sharedBytes);
        DecodeExperts decodeExperts =
                new DecodeExperts(launcher, scratch, kernels, types, forms, rowDecode, sharedBytes);
        boolean groups = options.tensorCores() == TensorCores.GROUP
                || (options.tensorCores() == TensorCores.AUTO && device.computeCapability() == 90);
        TileProducts tiles = new TileProducts(launcher, kernels, groups, processors);
        this.products = new Products(
                launcher, scratch, kernels, types, activations, tiles, options, processors, decodeProducts);
        this.rows = new RowKernels(launcher, scratch, kernels, products);
        this.attention = new AttentionKernels(launcher, scratch, kernels, step, ropes, options, groups);
        this.decodeAttention =
                new DecodeAttention(launcher, scratch, kernels, step, ropes, forms, integers, sharedBytes);
        this.index = new IndexKernels(launcher, scratch, kernels, step, ropes, attention, options);
        this.delta = new DeltaKernels(
                launcher,
                scratch,
                kernels,
                step,
                held,
                new DecodeDelta(launcher, scratch, kernels, step, forms, integers),
                new DeltaChunks(launcher, scratch, kernels, options, device.sharedMemoryOfABlock()));
        this.ngram = new NgramKernels(launcher, scratch, kernels, step, products, held);
        this.misses = new MissKernels(launcher, kernels);
        this.experts = new LayerExperts(
                stream,
                scratch,
                activations,
                new ExpertKernels(launcher, scratch, kernels, types, products, activations, decodeExperts),
                new ExpertPromptKernels(launcher, scratch, kernels, types, tiles, options),
                decodeExperts,
                misses);
        this.copies = new BlobCopies(device, stream, launcher, kernels);
        device.copyBy(copies);
    }

    MissKernels misses() {
        return misses;
    }

    BlobCopies copies() {
        return copies;
    }

    /** @param layer one of those that the placement places */
    void add(ExpertPlacement placement, int layer) {
        passes.add(placement, layer);
    }

    /** Memory for passes of {@code rows} rows is lent or given back. */
    void enter(int rows) {
        passes.enter(rows);
        transfers.enter(rows);
        activations.forget();
    }

    void promptGoesOn() {
        passes.promptGoesOn();
    }

    void promptFinished() {
        passes.promptFinished();
    }

    /** Memory that passes use was made: a pass of a name seen before may be another one. */
    void memoryMade() {
        passes.memoryMade();
    }

    @Override
    public void pass(String key, Batch batch, Runnable body) {
        passes.run(key, List.of(batch), true, body);
    }

    @Override
    public void passes(String key, List<Batch> batches, Runnable body) {
        passes.run(key, batches, false, body);
    }

    @Override
    public void embed(Weight table, Batch batch, Tensor out) {
        passes.use(batch);
        embed(table, step.tokens(), out);
    }

    @Override
    public void embed(Weight table, Tensor tokens, Tensor out) {
        embed(table, tokens.address(), out);
    }

    private void embed(Weight table, long tokens, Tensor out) {
        launcher.begin()
                .address(table.address())
                .address(table.rowBytes())
                .integer(table.inputs())
                .address(tokens)
                .tensor(out)
                .real(table.scale())
                .launch(types.of(table.type()).embed(), out.rows(), 128);
        activations.written(out);
    }

    @Override
    public void rmsNorm(Tensor in, Tensor weight, int group, float epsilon, Tensor out) {
        rows.norm(in, weight, group, epsilon, out);
        activations.written(out);
    }

    @Override
    public void matmul(Weight weight, Tensor in, Tensor out) {
        products.multiply(weight, in, out, ProductMode.STORE, weight.scale(), 0);
    }

    @Override
    public void matmulAdd(Weight weight, Tensor in, Tensor into) {
        products.multiply(weight, in, into, ProductMode.ADD, weight.scale(), 0);
    }

    @Override
    public void matmulAll(Weight[] weights, Tensor in, Tensor[] outs) {
        matmulAll(weights, NormedRows.plain(in), outs);
    }

    @Override
    public void matmulAll(Weight[] weights, NormedRows in, Tensor[] outs) {
        if (decodeProducts.fits(in.rows().rows(), weights)) {
            decodeProducts.multiply(weights, in, outs);
            for (Tensor out : outs) {
                activations.written(out);
            }
            return;
        }
        products.multiplyAll(weights, in.apply(this), outs);
        for (Tensor out : outs) {
            activations.written(out);
        }
    }

    @Override
    public void matmulInto(Weight weight, Tensor in, Tensor room, Residual into) {
        Tensor inject = into.inject();
        if (inject == null || !decodeProducts.fits(in.rows(), weight)) {
            Ops.super.matmulInto(weight, in, room, into);
            return;
        }
        decodeProducts.inject(weight, in, inject, into.rows());
        activations.written(into.rows());
    }

    @Override
    public void add(Tensor addend, Tensor into) {
        rows.add(addend, into);
        activations.written(into);
    }

    @Override
    public void repeat(Tensor in, int times, Tensor out) {
        rows.repeat(in, times, out);
        activations.written(out);
    }

    @Override
    public void concatenate(Tensor left, Tensor right, Tensor out) {
        rows.concatenate(left, right, out);
        activations.written(out);
    }

    @Override
    public void gatherRows(Tensor in, int[] wanted, Tensor out) {
        if (passes.capturing()) {
            throw new IllegalStateException("rows are gathered by number outside of passes only");
        }
        if (wanted.length == 0) {
            return;
        }
        long numbers = scratch.address("gathered row numbers", 4L * wanted.length);
        staging.write(MemorySegment.ofArray(wanted), numbers);
        rows.gather(in, numbers, out.rows(wanted.length));
        activations.written(out);
    }

    @Override
    public void lastRows(Tensor in, Batch batch, Tensor out) {
        passes.use(batch);
        rows.gatherLast(in, step.firstRows(), step.counts(), out.rows(step.segments()));
        activations.written(out);
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
        passes.use(batch);
        attention.inputs(shape, projected, keys, values, queryNorm, keyNorm, (CudaStates.Kv) kv, queries, gates);
        activations.written(queries);
        if (gates != null) {
            activations.written(gates);
        }
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
        passes.use(batch);
        attention.attention(shape, queries, (CudaStates.Kv) kv, (CudaStates.Selection) selection, gates, out);
        activations.written(out);
    }

    @Override
    public Tensor attend(
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
        passes.use(batch);
        CudaStates.Kv own = (CudaStates.Kv) kv;
        int rows = projected.rows();
        if (!decodeAttention.suits(shape, own, rows, selection != null)) {
            return Ops.super.attend(
                    shape, projected, keys, values, queryNorm, keyNorm, kv, selection, batch, queries, gates, out);
        }
        // Gates lie between the queries: the result has to lie elsewhere.
        Tensor result = shape.outputGate() ? scratch.tensor("attended rows", rows, out.columns()) : out;
        decodeAttention.attend(
                shape, projected, keys, values, queryNorm, keyNorm, own, (CudaStates.Selection) selection, result);
        activations.written(result);
        return result;
    }

    @Override
    public void indexKeys(IndexerShape shape, Tensor keys, Tensor keyNorm, LayerState.Index state, Batch batch) {
        passes.use(batch);
        index.append(shape, keys, keyNorm, (CudaStates.Index) state);
    }

    @Override
    public void selectBlocks(
            IndexerShape shape,
            Tensor queries,
            Tensor queryNorm,
            LayerState.Index state,
            Batch batch,
            LayerState.Selection selection) {
        passes.use(batch);
        index.choose(shape, queries, queryNorm, (CudaStates.Index) state, (CudaStates.Selection) selection);
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
        passes.use(batch);
        delta.run(shape, weights, qkv, z, beta, alpha, (CudaStates.Recurrent) state, batch.hold(), out);
        activations.written(out);
    }

    @Override
    public void route(RouterShape shape, Tensor logits, Routing routing) {
        experts.route(shape, logits, routing);
    }

    @Override
    public Tensor route(RouterShape shape, Weight router, NormedRows in, Tensor logits, Routing routing) {
        return experts.route(shape, router, in, logits, routing)
                ? in.scratch()
                : Ops.super.route(shape, router, in, logits, routing);
    }

    @Override
    public void followedBy(ExpertLayer layer, Weight router) {
        experts.followedBy(layer, router);
    }

    @Override
    public void expect(ExpertLayer layer, Routing guess, int rows) {
        experts.expect(layer, guess, rows);
    }

    @Override
    public void allExperts(
            ExpertLayer layer, @Nullable SharedExpert shared, Tensor in, Routing routing, Tensor room, Residual into) {
        if (!experts.all(layer, shared, in, routing, into, passes.capturing())) {
            Ops.super.allExperts(layer, shared, in, routing, room, into);
        }
    }

    @Override
    public void experts(ExpertLayer layer, Tensor in, Routing routing, Tensor out) {
        experts.sum(layer, in, routing, out, passes.capturing());
    }

    @Override
    public void sharedExpert(SharedExpert expert, Tensor in, Tensor into) {
        experts.shared(expert, in, into);
    }

    @Override
    public void hyperMix(HyperWeights weights, Tensor residual, Tensor out, @Nullable Tensor inject) {
        if (rowHyper.suits(weights, residual.rows())) {
            rowHyper.mix(weights, residual, out, inject);
        } else {
            rows.hyperMix(weights, residual, out, inject);
        }
        activations.written(out);
    }

    @Override
    public void hyperInject(Tensor y, Tensor inject, Tensor residual) {
        rows.hyperInject(y, inject, residual);
        activations.written(residual);
    }

    @Override
    public void ngram(NgramWeights weights, Tensor embedding, Tensor residual, LayerState.Ngram state, Batch batch) {
        passes.use(batch);
        ngram.run(weights, embedding, residual, (CudaStates.Ngram) state, batch.hold());
        if (!passes.capturing()) {
            transfers.consumed(embedding);
        }
        activations.written(residual);
    }

    @Override
    public boolean runsAhead() {
        return true;
    }

    @Override
    public boolean picks(int vocabulary) {
        return SampleKernels.suits(vocabulary);
    }

    @Override
    public void pick(Tensor logits, Tensor settings, Tensor out, Tensor tokens) {
        samples.pick(logits, settings, out, tokens);
        activations.written(tokens);
        activations.written(out);
    }

    @Override
    public void likeliest(Tensor logits, Tensor tokens, Tensor probabilities) {
        samples.likeliest(logits, tokens, probabilities);
        activations.written(tokens);
        activations.written(probabilities);
    }

    @Override
    public boolean queuesPasses() {
        return passes.queue();
    }

    @Override
    public void commit(Batch batch, int segment, int accepted) {
        int[] rows = new int[batch.segments().size()];
        rows[segment] = accepted;
        commit(batch, rows);
    }

    @Override
    public void commit(Batch batch, int[] accepted) {
        for (int s = 0; s < accepted.length; s++) {
            int rows = batch.segments().get(s).rows();
            if (accepted[s] < 0 || accepted[s] > rows) {
                throw new IllegalArgumentException("cannot accept " + accepted[s] + " of " + rows + " held rows");
            }
        }
        passes.commit(batch, accepted);
    }

    @Override
    public void write(MemorySegment source, Tensor target) {
        if (passes.capturing()) {
            throw new IllegalStateException("values are written outside of passes only");
        }
        transfers.write(source, target);
        activations.written(target);
    }

    @Override
    public void writeInput(MemorySegment source, Tensor target) {
        if (!Transfers.uploads(target)) {
            write(source, target);
            return;
        }
        transfers.upload(source, target);
        activations.written(target);
    }

    @Override
    public void awaitInput(Tensor target) {
        if (Transfers.uploads(target)) {
            transfers.open(target);
        }
    }

    @Override
    public void read(Tensor source, MemorySegment target) {
        passes.leaveProcessor();
        transfers.read(source, target);
        passes.settled();
    }

    @Override
    public void fetch(Tensor source) {
        transfers.fetch(source);
    }

    @Override
    public void take(MemorySegment target) {
        transfers.take(target);
    }

    /** What is queued from here on finds the recurrent states as the last commit leaves them. */
    void settleStates() {
        passes.settleStates();
    }

    /** Times the kernels of later passes; the caller closes what it gets. */
    KernelTimes time() {
        KernelTimes started = new KernelTimes(stream);
        launcher.time(started);
        return started;
    }

    /** Ends timing. */
    void stopTiming() {
        launcher.time(null);
    }

    /** Passes from now on leave out the kernels of these names ({@code hollow}: an empty one takes their place); null for none. For figures. */
    void leaveOut(@Nullable Predicate<String> names, boolean hollow) {
        launcher.replace(names, hollow ? nothing : null);
        memoryMade();
    }

    /** Kernels launched or captured so far. */
    long launches() {
        return launcher.launches();
    }

    /** Reads int32 values of device memory after all work, for tests and figures. */
    int[] readIntegers(long address, int count) {
        return transfers.integers(address, count);
    }

    @Override
    public void close() {
        stream.synchronize();
        passes.close();
        transfers.close();
        device.copyBy(null);
        copies.close();
        scratch.close();
        step.close();
        ropes.close();
        launcher.close();
    }
}
