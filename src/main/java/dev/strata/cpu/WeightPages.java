package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.Buffer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostTensor;
import dev.strata.format.QuantType;
import dev.strata.memory.HostMemory;
import dev.strata.os.HostPages;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies weights from mapped files into huge pages: reading them then takes a fraction of the address translations. Types that cost many
 * instructions are packed on the way, which makes some of them more than half as large again. Only where RAM has room for the copies beside
 * a reserve; experts all or none, because copies of some would take the page cache from the others.
 */
final class WeightPages {
    private static final Logger LOG = LoggerFactory.getLogger(WeightPages.class);
    /** Weights below a huge page gain nothing, packed ones nothing below this, experts below the third hardly anything. */
    private static final long LEAST_COPY = HostPages.HUGE_PAGE;

    private static final long LEAST_PACKED = 64L << 10;
    private static final long LEAST_EXPERTS = 256L << 20;

    private static final long LEAST_RESERVE = 2L << 30;

    private final CpuContext context;
    private final CpuArena arena;
    private final boolean wanted;
    private final boolean packs;
    private final long leastExperts;
    private @Nullable ExpertSource judged;
    private ExpertForm.@Nullable Choice experts;

    /**
     * @param wanted whether weights are copied
     * @param packs whether copies are packed
     */
    WeightPages(CpuContext context, CpuArena arena, boolean wanted, boolean packs) {
        this(context, arena, wanted, packs, LEAST_EXPERTS);
    }

    /** Copies experts from {@code leastExperts} bytes on. */
    WeightPages(CpuContext context, CpuArena arena, boolean wanted, boolean packs, long leastExperts) {
        this.context = context;
        this.arena = arena;
        this.wanted = wanted;
        this.packs = wanted && packs;
        this.leastExperts = leastExperts;
    }

    /** A copy of a matrix, packed or as stored, or the matrix where it lies. */
    Buffer place(HostTensor tensor) {
        MemorySegment data = tensor.data();
        MatrixForm form = wanted && data.isNative() ? form(tensor, HostMemory.read()) : null;
        if (form == null) {
            return HostBuffer.of(data);
        }
        HostBuffer copy = arena.allocate(form.bytes(), tensor.name());
        move(data, form, copy.address());
        return form.packed() ? new PackedBuffer(copy) : copy;
    }

    /** The form of a matrix's copy in a machine of this memory: where there is no room for the packed one, which may be larger, as stored. Null: no copy. */
    @Nullable
    MatrixForm form(HostTensor tensor, HostMemory memory) {
        MatrixForm packed = packedForm(tensor.type(), tensor.outputs(), tensor.inputs());
        if (packed.packed() && tensor.data().byteSize() >= LEAST_PACKED && fits(packed.bytes(), memory)) {
            return packed;
        }
        MatrixForm stored = MatrixForm.stored(tensor.type(), tensor.outputs(), tensor.inputs());
        return stored.bytes() >= LEAST_COPY && fits(stored.bytes(), memory) ? stored : null;
    }

    /** The form that a matrix gets where it is copied. */
    private MatrixForm packedForm(QuantType type, int outputs, int inputs) {
        long bytes = packs ? CpuKernels.strata_cpu_packed_bytes(context.address(), type.id(), outputs, inputs) : 0;
        return bytes == 0
                ? MatrixForm.stored(type, outputs, inputs)
                : new MatrixForm(type, outputs, inputs, bytes, true);
    }

    /** The form in which the experts of a layer are to be copied, or null when they stay where they are; judged and said once for a source. */
    @Nullable
    ExpertForm expertForm(ExpertSource source, ExpertLayout layout) {
        if (judged != source) {
            judged = source;
            experts = wanted && source.totalBytes() >= leastExperts ? choose(source, HostMemory.read()) : null;
        }
        return experts == null ? null : ExpertForm.of(layout, experts);
    }

    /** What becomes of the matrices of experts in a machine of this memory, null: they stay where they are. */
    ExpertForm.@Nullable Choice choose(ExpertSource source, HostMemory memory) {
        long stored = source.totalBytes();
        boolean any = false;
        long packed = 0;
        for (int layer = 0; layer < source.layers(); layer++) {
            ExpertForm form = ExpertForm.of(source.layout(layer), this::packedForm);
            any |= form.packed();
            packed += form.bytes() * source.layout(layer).experts();
        }
        if (any && fits(packed, memory)) {
            LOG.info("experts are packed into huge pages: {} MiB become {} MiB", stored >> 20, packed >> 20);
            return this::packedForm;
        }
        if (any) {
            LOG.info("experts are not packed: no room in RAM for {} MiB", packed >> 20);
        }
        if (fits(stored, memory)) {
            LOG.info("experts are copied into huge pages: {} MiB", stored >> 20);
            return MatrixForm::stored;
        }
        LOG.info("experts stay in the mapped file: no room in RAM for a copy of {} MiB", stored >> 20);
        return null;
    }

    /** Huge pages for the experts of one layer. */
    MemorySegment expertPages(long bytes, int layer) {
        return arena.allocate(bytes, "experts of layer " + layer).host();
    }

    /** Copies a matrix in the form that it is to have at {@code target}, on all threads. */
    void move(MemorySegment matrix, MatrixForm form, long target) {
        if (form.packed()) {
            CpuKernels.strata_cpu_pack(
                    context.address(), form.type().id(), matrix.address(), form.outputs(), form.inputs(), target);
        } else {
            copy(matrix.address(), target, matrix.byteSize());
        }
    }

    void copy(long source, long target, long bytes) {
        CpuKernels.strata_cpu_copy(context.address(), source, target, bytes);
    }

    /** Whether {@code bytes} more leave the reserve of an eighth of RAM, at least 2 GiB. */
    static boolean fits(long bytes, HostMemory memory) {
        return bytes + Math.max(LEAST_RESERVE, memory.physical() / 8) <= memory.usable();
    }
}
