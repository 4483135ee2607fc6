package dev.strata.cpu;

import dev.strata.device.DeviceException;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
import dev.strata.os.OperatingSystem;
import java.util.BitSet;
import java.util.List;

/** C++ kernels on threads of their own that compute experts in place, up to eight rows for every time a weight is read. */
public final class CpuExpertWorkers implements ExpertWorkers {
    private final CpuContext context;
    private final CpuArena arena = new CpuArena();
    private final ExpertAddresses table = new ExpertAddresses(MissShare.MOST_EXPERTS, arena);

    private CpuExpertWorkers(CpuContext context) {
        this.context = context;
    }

    /**
     * Starts the threads.
     *
     * @param processors what the threads are bound to in turn, from the second thread on; empty: nothing
     * @throws DeviceException of kind UNAVAILABLE when the kernels cannot be loaded
     */
    public static CpuExpertWorkers start(CpuSettings settings, List<Integer> processors) {
        if (!CpuBackend.isAvailable()) {
            throw new DeviceException(
                    DeviceException.Kind.UNAVAILABLE, "the CPU kernels are not available: " + CpuBackend.reason());
        }
        return new CpuExpertWorkers(CpuContext.open(settings, processors));
    }

    @Override
    public int threads() {
        return context.threads();
    }

    @Override
    public String description() {
        return context.threads() + " threads, " + context.isa().label() + " kernels";
    }

    @Override
    public BitSet spared() {
        BitSet bound = context.bound();
        BitSet spared = bound.isEmpty() ? bound : OperatingSystem.current().affinity();
        spared.andNot(bound);
        return spared;
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
        for (int i = 0; i < count; i++) {
            table.putBlob(experts[i], layout, blobs[i]);
        }
        table.products(
                context,
                layout,
                layout.gateType().id(),
                layout.upType().id(),
                layout.downType().id(),
                ids,
                rows,
                used,
                in,
                results);
        for (int i = 0; i < count; i++) {
            table.remove(experts[i]);
        }
    }

    @Override
    public void close() {
        context.close();
        arena.close();
    }
}
