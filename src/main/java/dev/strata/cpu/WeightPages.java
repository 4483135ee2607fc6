package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.ExpertSource;
import dev.strata.device.HostBuffer;
import dev.strata.memory.HostMemory;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies weights from mapped files into huge pages: reading them then takes a fraction of the address translations. Only where RAM has
 * room for the copies beside a reserve; experts all or none, because copies of some would take the page cache from the others.
 */
final class WeightPages {
    private static final Logger LOG = LoggerFactory.getLogger(WeightPages.class);
    /** Weights below a huge page gain nothing, experts below this hardly anything. */
    private static final long LEAST_EXPERTS = 256L << 20;

    private static final long LEAST_RESERVE = 2L << 30;

    private final CpuContext context;
    private final CpuArena arena;
    private final boolean wanted;
    private @Nullable ExpertSource judged;
    private boolean takesExperts;

    WeightPages(CpuContext context, CpuArena arena, boolean wanted) {
        this.context = context;
        this.arena = arena;
        this.wanted = wanted;
    }

    /** A copy of {@code data}, or the data where it lies. */
    HostBuffer place(MemorySegment data, String name) {
        if (!wanted
                || !data.isNative()
                || data.byteSize() < HostPages.HUGE_PAGE
                || !fits(data.byteSize(), HostMemory.read())) {
            return HostBuffer.of(data);
        }
        HostBuffer copy = arena.allocate(data.byteSize(), name);
        copy(data.address(), copy.host().address(), data.byteSize());
        return copy;
    }

    /** Whether the experts of {@code source} are to be copied; judged and said once for a source. */
    boolean takesExperts(ExpertSource source) {
        if (judged != source) {
            judged = source;
            long total = source.totalBytes();
            takesExperts = wanted && total >= LEAST_EXPERTS && fits(total, HostMemory.read());
            if (takesExperts) {
                LOG.info("experts are copied into huge pages: {} MiB", total >> 20);
            } else if (wanted && total >= LEAST_EXPERTS) {
                LOG.info("experts stay in the mapped file: no room in RAM for a copy of {} MiB", total >> 20);
            }
        }
        return takesExperts;
    }

    /** Huge pages for the experts of one layer. */
    MemorySegment expertPages(long bytes, int layer) {
        return arena.allocate(bytes, "experts of layer " + layer).host();
    }

    void copy(long source, long target, long bytes) {
        CpuKernels.strata_cpu_copy(context.address(), source, target, bytes);
    }

    /** Whether {@code bytes} more leave the reserve of an eighth of RAM, at least 2 GiB. */
    static boolean fits(long bytes, HostMemory memory) {
        return bytes + Math.max(LEAST_RESERVE, memory.physical() / 8) <= memory.usable();
    }
}
