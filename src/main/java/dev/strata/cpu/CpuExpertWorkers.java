package dev.strata.cpu;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.DeviceException;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.MissShare;
import java.lang.foreign.MemorySegment;
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
            enter(layout, experts[i], blobs[i]);
        }
        CpuKernels.strata_cpu_expert_results(
                context.address(),
                layout.experts(),
                layout.hidden(),
                layout.intermediate(),
                layout.gateType().id(),
                layout.upType().id(),
                layout.downType().id(),
                table.address(),
                ids,
                rows,
                used,
                in,
                results);
        for (int i = 0; i < count; i++) {
            table.remove(experts[i]);
        }
    }

    private void enter(ExpertLayout layout, int expert, long blob) {
        table.put(expert, blob, blob + layout.upOffset(), blob + layout.downOffset());
        if (layout.scaled()) {
            MemorySegment tail =
                    MemorySegment.ofAddress(blob + layout.tailOffset()).reinterpret(ExpertLayout.TAIL);
            table.factors(
                    expert,
                    tail.get(JAVA_FLOAT_UNALIGNED, 0),
                    tail.get(JAVA_FLOAT_UNALIGNED, 4),
                    tail.get(JAVA_FLOAT_UNALIGNED, 8));
        } else {
            table.factors(expert, 1, 1, 1);
        }
    }

    @Override
    public void close() {
        context.close();
        arena.close();
    }
}
