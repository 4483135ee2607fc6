package dev.strata.cuda;

import java.util.List;

/** What a decode step of one row is made of: kernels alone, launches alone, and how much shorter it is without each kind of kernel. */
final class DecodeParts {
    private static final int PAST = 1100;
    private static final List<String> KINDS = List.of(
            "(decode|row)_products.*",
            "row_streams.*|row_hyper.*|hyper.*",
            "(decode|row)_route.*",
            "(decode|row)_gate_up.*",
            "(decode|row)_down.*",
            "attention_(decode|row).*|attention_merge",
            "rms_norm|add_rows|embed.*|attention_inputs",
            "delta.*|shift_rows",
            "index.*|select.*|ngram.*",
            "product_.*|gate_up_.*|down_.*|route|attention_rows.*");

    /** What a step is to do. */
    enum Kind {
        WITH_LOGITS,
        QUEUED,
        WAIT
    }

    /** Runs one step. */
    interface Step {
        void run(Kind kind, int past);
    }

    private final CudaOps ops;
    private final Step step;

    DecodeParts(CudaOps ops, Step step) {
        this.ops = ops;
        this.step = step;
    }

    void print(long bytes) {
        long before = ops.launches();
        ops.leaveOut(null, false);
        step.run(Kind.WITH_LOGITS, PAST);
        System.out.printf(
                "%d kernels a step, %.3f GB of weights: %.3f ms at 4.3 TB/s%n",
                ops.launches() - before, bytes / 1e9, bytes / 4.3e9);
        double whole = queued();
        System.out.printf("steps queued without logits (no head): %.3f ms%n", whole);
        ops.leaveOut(name -> true, true);
        System.out.printf("the same with empty kernels: %.3f ms%n", queued());
        for (String kind : KINDS) {
            ops.leaveOut(name -> name.matches(kind), false);
            System.out.printf("without %-50s %.3f ms less%n", kind, whole - queued());
        }
        ops.leaveOut(null, false);
        try (KernelTimes times = ops.time()) {
            for (int i = 0; i < 4; i++) {
                step.run(Kind.WITH_LOGITS, PAST + i);
            }
            System.out.println("four decode steps, with events\n" + times.table());
        }
        ops.stopTiming();
    }

    /** Milliseconds a step of many that follow one another without the host waiting. */
    private double queued() {
        for (int i = 0; i < 4; i++) {
            step.run(Kind.QUEUED, PAST);
        }
        step.run(Kind.WAIT, 0);
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 3; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < 20; i++) {
                step.run(Kind.QUEUED, PAST + i);
            }
            step.run(Kind.WAIT, 0);
            best = Math.min(best, (System.nanoTime() - start) / 20e6);
        }
        return best;
    }
}
