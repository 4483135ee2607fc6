package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.expert.PatternSource;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Workers that check their blobs and leave expert and row as the result, in random time; they fail on demand. */
final class FakeWorkers implements ExpertWorkers {
    static final float FAILED = -1;

    private final List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
    private final AtomicInteger calls = new AtomicInteger();
    private volatile boolean closed;

    static float result(int expert, float row) {
        return 10_000 * expert + row;
    }

    void failIn(int more) {
        left.set(more);
    }

    int calls() {
        return calls.get();
    }

    boolean closed() {
        return closed;
    }

    List<String> wrong() {
        return wrong;
    }

    @Override
    public int threads() {
        return 3;
    }

    @Override
    public String description() {
        return "fake threads";
    }

    @Override
    public void compute(
            ExpertLayout layout,
            int[] experts,
            long[] blobs,
            int count,
            long ids,
            int rows,
            int used,
            long in,
            long results) {
        calls.incrementAndGet();
        MemorySegment chosen = MemorySegment.ofAddress(ids).reinterpret(4L * rows * used);
        MemorySegment input = MemorySegment.ofAddress(in).reinterpret(4L * rows * layout.hidden());
        MemorySegment out = MemorySegment.ofAddress(results).reinterpret(4L * rows * used * layout.hidden());
        boolean fails = left.getAndDecrement() == 0;
        for (int i = 0; i < count; i++) {
            MemorySegment blob = MemorySegment.ofAddress(blobs[i]).reinterpret(layout.blobBytes());
            if (!PatternSource.holds(layout, layout.layer(), experts[i], blob)) {
                wrong.add("layer " + layout.layer() + " expert " + experts[i] + " holds something else");
            }
            for (int pair = 0; pair < rows * used; pair++) {
                if (chosen.getAtIndex(JAVA_INT, pair) == experts[i]) {
                    float row = input.get(JAVA_FLOAT, 4L * layout.hidden() * (pair / used));
                    out.set(JAVA_FLOAT, 4L * layout.hidden() * pair, fails ? FAILED : result(experts[i], row));
                }
            }
        }
        if (fails) {
            throw new IllegalStateException("a worker is broken");
        }
    }

    @Override
    public void close() {
        closed = true;
    }
}
