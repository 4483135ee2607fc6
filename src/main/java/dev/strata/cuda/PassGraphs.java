package dev.strata.cuda;

import dev.strata.device.Batch;
import dev.strata.device.DeviceException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Captured passes. A pass is issued as it is the first time, so that scratch memory grows; the second time it is captured, from then on
 * replayed. What a replay cannot know is in the key or in the step record.
 */
final class PassGraphs implements AutoCloseable {
    /** More rows than this are issued every time: launches then cost little beside the work. */
    static final int MOST_ROWS = 64;

    private static final Logger LOG = LoggerFactory.getLogger(PassGraphs.class);
    private static final int MOST_GRAPHS = 256;

    /** Everything that a captured pass depends on beside the step record. */
    record Key(
            String name, int rows, int segments, int longestSegment, int contextBucket, boolean hold, int generation) {}

    private record Captured(long executable, List<HeldStates.Replay> replays) {}

    private final CudaStream stream;
    private final Scratch scratch;
    private final HeldStates held;
    private final Map<Key, Captured> captured = new HashMap<>();
    private final Set<Key> seen = new HashSet<>();
    private boolean capturing;

    PassGraphs(CudaStream stream, Scratch scratch, HeldStates held) {
        this.stream = stream;
        this.scratch = scratch;
        this.held = held;
    }

    boolean capturing() {
        return capturing;
    }

    /** Whether such a pass may be captured at all. */
    static boolean suits(Batch batch, StepRecord step) {
        return batch.rows() <= MOST_ROWS && step.longestSegment() <= Batch.MAX_WINDOW;
    }

    void run(Key key, Runnable body) {
        Captured known = captured.get(key);
        if (known != null) {
            Driver.launchGraph(known.executable(), stream.handle());
            if (key.hold()) {
                held.restore(known.replays());
            }
        } else if (seen.add(key)) {
            body.run();
        } else {
            capture(key, body);
        }
    }

    /** Replays a captured pass on another stream; false when there is none of that key. */
    boolean replay(Key key, CudaStream beside) {
        Captured known = captured.get(key);
        if (known != null) {
            Driver.launchGraph(known.executable(), beside.handle());
        }
        return known != null;
    }

    private void capture(Key key, Runnable body) {
        if (captured.size() >= MOST_GRAPHS) {
            clear();
        }
        scratch.freeze(true);
        capturing = true;
        Driver.beginCapture(stream.handle());
        long graph;
        try {
            body.run();
        } catch (RuntimeException failed) {
            abandon(failed);
            throw failed;
        } finally {
            scratch.freeze(false);
        }
        try {
            graph = Driver.endCapture(stream.handle());
        } finally {
            capturing = false;
        }
        long executable = Driver.instantiate(graph);
        Driver.destroyGraph(graph);
        captured.put(key, new Captured(executable, held.replays()));
        LOG.debug("captured {}", key);
        Driver.launchGraph(executable, stream.handle());
    }

    /** Ends a capture that failed; what the driver says about it comes second. */
    private void abandon(RuntimeException failed) {
        try {
            Driver.destroyGraph(Driver.endCapture(stream.handle()));
        } catch (DeviceException second) {
            failed.addSuppressed(second);
        }
        capturing = false;
    }

    /** Forgets all captured passes. */
    void clear() {
        if (!captured.isEmpty()) {
            stream.synchronize();
            captured.values().forEach(one -> Driver.destroyExecutable(one.executable()));
            captured.clear();
        }
        seen.clear();
    }

    @Override
    public void close() {
        clear();
    }
}
