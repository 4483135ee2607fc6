package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.ExpertLayout;
import dev.strata.device.HostBuffer;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Products of routed experts. Experts in addressable memory are read where they lie, in one call. The others pass through a ring,
 * batch after batch; results wait per (row, choice) pair and are summed at the end, in the order of the routing.
 */
final class ExpertProducts implements AutoCloseable {
    /** Pairs of rows and choices of the largest pass that counts as a step; a prompt's pass needs nearly every expert. */
    private static final int STEP_PAIRS = 256;

    private final CpuContext context;
    private final int tailSkip;
    private HostBuffer results = HostBuffer.of(MemorySegment.NULL);
    private final ExpertRing ring = new ExpertRing();
    private final BitSet missing = new BitSet();
    private final int[] choices = new int[STEP_PAIRS];
    private final BitSet guess = new BitSet();
    private final BitSet skipped = new BitSet();
    private @Nullable ExpertTable later;

    /** @param tailSkip rank from which on a step leaves out experts that are not in RAM; 0: none are */
    ExpertProducts(CpuContext context, int tailSkip) {
        this.context = context;
        this.tailSkip = tailSkip;
    }

    /** Experts of a later layer that the next products' rows will probably choose there; told to the source when this layer's reads are under way. */
    void expect(ExpertTable table, MemorySegment ids, int count) {
        later = table;
        guess.clear();
        for (int i = 0; i < count; i++) {
            guess.set(ids.getAtIndex(JAVA_INT, i));
        }
    }

    private void tellGuess() {
        ExpertTable next = later;
        later = null;
        if (next != null) {
            next.expect(guess);
        }
    }

    void run(ExpertTable table, Tensor in, Routing routing, Tensor out) {
        int rows = in.rows();
        int used = routing.used();
        ExpertLayout layout = table.layout();
        long bytes = 4L * rows * used * layout.hidden();
        if (bytes > results.bytes()) {
            results.close();
            results = HugePages.allocate(bytes, "expert results");
        }
        if (table.complete()) {
            tellGuess();
            products(table, table.resident(), in, routing, rows);
        } else {
            stagedProducts(table, in, routing, rows);
        }
        CpuKernels.strata_cpu_expert_sum(
                context.address(),
                layout.hidden(),
                results.address(),
                routing.weights().address(),
                rows,
                used,
                out.address());
    }

    private void stagedProducts(ExpertTable table, Tensor in, Routing routing, int rows) {
        missing.clear();
        boolean any = false;
        MemorySegment ids = routing.ids().host();
        int pairs = rows * routing.used();
        boolean step = pairs <= STEP_PAIRS && table.adapts();
        for (int pair = 0; pair < pairs; pair++) {
            int expert = ids.getAtIndex(JAVA_INT, pair);
            if (step) {
                choices[pair] = expert;
            }
            if (table.resident().has(expert) || table.locate(expert)) {
                any = true;
            } else {
                missing.set(expert);
            }
        }
        if (step) {
            table.used(choices, pairs);
        }
        if (tailSkip > 0 && pairs <= STEP_PAIRS && !missing.isEmpty()) {
            skipTail(table.layout().hidden(), ids, pairs, routing.used());
        }
        boolean inPlace = any;
        Runnable resident = () -> {
            if (inPlace) {
                products(table, table.resident(), in, routing, rows);
            }
            tellGuess();
        };
        if (missing.isEmpty()) {
            tellGuess();
            resident.run();
        } else {
            ring.run(
                    table,
                    missing.stream().toArray(),
                    step,
                    resident,
                    () -> products(table, table.staged(), in, routing, rows));
        }
    }

    /** Missed experts that every row ranks low are not read; their pairs count nothing. */
    private void skipTail(int hidden, MemorySegment ids, int pairs, int used) {
        skipped.clear();
        skipped.or(missing);
        for (int pair = 0; pair < pairs; pair++) {
            if (pair % used < tailSkip) {
                skipped.clear(ids.getAtIndex(JAVA_INT, pair));
            }
        }
        missing.andNot(skipped);
        for (int pair = 0; pair < pairs; pair++) {
            if (skipped.get(ids.getAtIndex(JAVA_INT, pair))) {
                results.host().asSlice(4L * hidden * pair, 4L * hidden).fill((byte) 0);
            }
        }
    }

    private void products(ExpertTable table, ExpertAddresses addresses, Tensor in, Routing routing, int rows) {
        ExpertForm form = table.form();
        addresses.products(
                context,
                table.layout(),
                form.gate().kind(),
                form.up().kind(),
                form.down().kind(),
                routing.ids().address(),
                rows,
                routing.used(),
                in.address(),
                results.address());
    }

    @Override
    public void close() {
        results.close();
        ring.close();
    }
}
