package dev.strata.cuda;

import dev.strata.device.Batch;
import dev.strata.device.ExpertPlacement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Runs passes directly or as graphs, and tells those that place experts about them. */
final class CudaPasses implements AutoCloseable {
    private static final long GLANCE_NANOS = 20_000;

    /** Passes of more rows have kernels that are long enough without overlapped launches. */
    private static final int MOST_OVERLAPPED_ROWS = 16;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Launcher launcher;
    private final Scratch scratch;
    private final StepRecord step;
    private final ChunkMemory chunk;
    private final HeldStates held;
    private final CommitRecord record;
    private final Activations activations;
    private final CudaOptions options;
    private final PassGraphs graphs;
    private final CudaEvent finished = CudaEvent.create();
    private final CudaStream beside = CudaStream.create("accepted rows");
    private final CudaEvent verified = CudaEvent.create();
    private final CudaEvent advanced = CudaEvent.create();
    private @Nullable Pending pending;
    private final Map<ExpertPlacement, Integer> placements = new LinkedHashMap<>();
    /** What the step record describes to kernels, null unless it holds the batches of the running pass. */
    private @Nullable Batch described;

    private int memoryGeneration;

    /** Rows of a held pass by which states have not been told to advance. */
    private record Pending(Batch batch, int[] accepted) {}

    CudaPasses(
            CudaDevice device,
            CudaStream stream,
            Staging staging,
            Launcher launcher,
            Scratch scratch,
            StepRecord step,
            ChunkMemory chunk,
            HeldStates held,
            Activations activations,
            CudaOptions options) {
        this.device = device;
        this.stream = stream;
        this.launcher = launcher;
        this.scratch = scratch;
        this.step = step;
        this.chunk = chunk;
        this.held = held;
        this.record = new CommitRecord(device, stream, staging);
        this.activations = activations;
        this.options = options;
        this.graphs = new PassGraphs(stream, scratch, held);
    }

    /** @param layer one of those that the placement places */
    void add(ExpertPlacement placement, int layer) {
        placements.merge(placement, layer + 1, Math::max);
    }

    /** Memory for passes of {@code rows} rows is lent or given back. */
    void enter(int rows) {
        settleStates();
        long lent = 0;
        for (ExpertPlacement placement : placements.keySet()) {
            placement.enter(rows, stream);
            lent = Math.max(lent, placement.lentMemory());
        }
        chunk.enter(rows, lent);
    }

    void promptGoesOn() {
        placements.keySet().forEach(ExpertPlacement::promptGoesOn);
    }

    void promptFinished() {
        placements.keySet().forEach(ExpertPlacement::promptFinished);
    }

    /** Memory that passes use was made: a pass of a name seen before may be another one. */
    void memoryMade() {
        memoryGeneration++;
    }

    /** Operations outside of a pass describe their batch to the kernels themselves. */
    void use(Batch batch) {
        if (batch == described) {
            return;
        }
        if (described == null || !step.select(batch)) {
            if (graphs.capturing()) {
                throw new IllegalStateException("a captured pass reads another batch than its own");
            }
            settleStates();
            step.load(List.of(batch));
        }
        described = batch;
    }

    /** What is queued from here on finds the states as the last {@link #commit} leaves them. */
    void settleStates() {
        Pending accepted = pending;
        if (accepted != null) {
            pending = null;
            advance(accepted.batch(), accepted.accepted());
        }
    }

    /**
     * Runs {@code body} as {@link dev.strata.device.Ops#passes} describes.
     *
     * @param states whether it reads recurrent states
     */
    void run(String key, List<Batch> batches, boolean states, Runnable body) {
        device.attach();
        Batch batch = batches.getFirst();
        if (states) {
            settleStates();
        }
        step.load(batches);
        described = batch;
        activations.forget();
        if (batch.hold()) {
            held.begin();
        }
        launcher.overlap(batch.rows() <= MOST_OVERLAPPED_ROWS && !launcher.timing());
        boolean graph = options.graphs() && !launcher.timing() && PassGraphs.suits(batch, step);
        int form = 0;
        for (ExpertPlacement placement : placements.keySet()) {
            placement.beginPass(batch.rows(), stream);
            graph &= placement.capturable(batch.rows());
            form += placement.form();
        }
        try {
            if (graph) {
                PassGraphs.Key graphKey = new PassGraphs.Key(
                        key,
                        batch.rows(),
                        step.segments(),
                        step.longestSegment(),
                        step.contextBucket(),
                        batch.hold(),
                        generation() + form);
                graphs.run(graphKey, body);
            } else {
                body.run();
            }
        } finally {
            placements.keySet().forEach(placement -> placement.endPass(stream));
            launcher.overlap(false);
            described = null;
            settleStates();
        }
        activations.forget();
    }

    /** What captured passes were made with; changes when memory that they use does. */
    private int generation() {
        return scratch.generation() + step.generation() + record.generation() + memoryGeneration + chunk.generation();
    }

    /**
     * As {@link dev.strata.device.Ops#commit(Batch, int[])}. States advance beside the drafts that follow, which need none of them, and are handed over
     * behind those.
     */
    void commit(Batch batch, int[] accepted) {
        if (held.replays().isEmpty()) {
            return;
        }
        device.attach();
        described = null;
        settleStates();
        verified.record(stream);
        pending = new Pending(batch, accepted.clone());
    }

    private void advance(Batch batch, int[] accepted) {
        List<HeldStates.Replay> replays = held.replays();
        Runnable body = () -> replays.forEach(replay -> replay.accept(record));
        boolean graph = options.graphs() && !launcher.timing() && batch.rows() <= PassGraphs.MOST_ROWS;
        beside.waitFor(verified);
        record.load(batch, accepted, beside);
        PassGraphs.Key key =
                new PassGraphs.Key("commit", batch.rows(), accepted.length, Batch.MAX_WINDOW, 0, false, generation());
        boolean replayed = graph && graphs.replay(key, beside);
        advanced.record(beside);
        stream.waitFor(advanced);
        if (replayed) {
            return;
        }
        launcher.overlap(batch.rows() <= MOST_OVERLAPPED_ROWS && !launcher.timing());
        try {
            if (graph) {
                graphs.run(key, body);
            } else {
                body.run();
            }
        } finally {
            launcher.overlap(false);
        }
    }

    /** Whether passes of few rows may be queued behind each other: no expert has to be brought or computed by the host meanwhile. */
    boolean queue() {
        for (ExpertPlacement placement : placements.keySet()) {
            if (!placement.resident()) {
                return false;
            }
        }
        return true;
    }

    /** Whether the running pass is being captured. */
    boolean capturing() {
        return graphs.capturing();
    }

    /** Waits for all work where a placement computes on the processor, without keeping one busy, which the driver's own waits do. */
    void leaveProcessor() {
        boolean shared = false;
        for (ExpertPlacement placement : placements.keySet()) {
            shared |= placement.sharesProcessor();
        }
        if (!shared) {
            return;
        }
        finished.record(stream);
        while (!finished.isDone()) {
            LockSupport.parkNanos(this, GLANCE_NANOS);
        }
    }

    /** All work so far has been waited for. */
    void settled() {
        placements.keySet().forEach(ExpertPlacement::settled);
    }

    @Override
    public void close() {
        settleStates();
        stream.synchronize();
        finished.close();
        verified.close();
        advanced.close();
        beside.close();
        record.close();
        graphs.close();
    }
}
