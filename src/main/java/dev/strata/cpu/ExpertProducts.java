package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.ExpertLayout;
import dev.strata.device.HostBuffer;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * Products of routed experts. Experts in addressable memory are read where they lie, in one call. The others pass through a ring,
 * batch after batch; results wait per (row, choice) pair and are summed at the end, in the order of the routing.
 */
final class ExpertProducts implements AutoCloseable {
    private final CpuContext context;
    private HostBuffer results = HostBuffer.of(MemorySegment.NULL);
    private final ExpertRing ring = new ExpertRing();
    private final BitSet missing = new BitSet();

    ExpertProducts(CpuContext context) {
        this.context = context;
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
        for (int pair = 0; pair < rows * routing.used(); pair++) {
            int expert = ids.getAtIndex(JAVA_INT, pair);
            if (table.resident().has(expert) || table.locate(expert)) {
                any = true;
            } else {
                missing.set(expert);
            }
        }
        boolean inPlace = any;
        Runnable resident = () -> {
            if (inPlace) {
                products(table, table.resident(), in, routing, rows);
            }
        };
        if (missing.isEmpty()) {
            resident.run();
        } else {
            ring.run(
                    table,
                    missing.stream().toArray(),
                    resident,
                    () -> products(table, table.staged(), in, routing, rows));
        }
    }

    private void products(ExpertTable table, ExpertAddresses addresses, Tensor in, Routing routing, int rows) {
        addresses.products(
                context,
                table.layout(),
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
