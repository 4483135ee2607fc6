package dev.strata.cpu;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The experts of one layer: those that lie in addressable memory, and those whose blobs have been staged for the running product. */
final class ExpertTable implements ExpertLayer {
    private final ExpertSource source;
    private final int layer;
    private final ExpertLayout layout;
    private final ExpertAddresses resident;
    private final ExpertAddresses staged;
    private final boolean complete;
    private final ExpertForm form;

    ExpertTable(ExpertSource source, int layer, CpuArena arena, WeightPages pages) {
        this.source = source;
        this.layer = layer;
        this.layout = source.layout(layer);
        this.resident = new ExpertAddresses(layout.experts(), arena);
        this.staged = new ExpertAddresses(layout.experts(), arena);
        boolean all = true;
        for (int expert = 0; expert < layout.experts(); expert++) {
            all &= locate(expert);
        }
        this.complete = all;
        ExpertForm copies = all ? pages.expertForm(source, layout) : null;
        this.form = copies != null && move(pages, copies) ? copies : ExpertForm.of(layout, MatrixForm::stored);
    }

    /** Copies all experts, matrix by matrix in the order of the experts, unless one has lost its view. */
    private boolean move(WeightPages pages, ExpertForm copies) {
        List<ExpertView> views = new ArrayList<>();
        for (int expert = 0; expert < layout.experts(); expert++) {
            ExpertView view = source.view(layer, expert);
            if (view == null) {
                return false;
            }
            views.add(view);
        }
        long[] gate = place(views.stream().map(ExpertView::gate).toList(), copies.gate(), pages);
        long[] up = place(views.stream().map(ExpertView::up).toList(), copies.up(), pages);
        long[] down = place(views.stream().map(ExpertView::down).toList(), copies.down(), pages);
        for (int expert = 0; expert < layout.experts(); expert++) {
            resident.put(expert, gate[expert], up[expert], down[expert]);
        }
        return true;
    }

    /** Addresses of copies that follow each other, each at a multiple of 64 bytes. */
    private long[] place(List<MemorySegment> matrices, MatrixForm copy, WeightPages pages) {
        long each = (copy.bytes() + 63) / 64 * 64;
        long base = pages.expertPages(each * matrices.size(), layer).address();
        long[] addresses = new long[matrices.size()];
        // Matrices that lie back to back are copied in one go by all threads.
        long first = matrices.getFirst().address();
        boolean together = !copy.packed();
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = base + each * i;
            together &= matrices.get(i).address() == first + each * i
                    && matrices.get(i).byteSize() == each;
        }
        if (together) {
            pages.copy(first, base, each * addresses.length);
            return addresses;
        }
        for (int i = 0; i < addresses.length; i++) {
            pages.move(matrices.get(i), copy, addresses[i]);
        }
        return addresses;
    }

    @Override
    public ExpertLayout layout() {
        return layout;
    }

    /** The form of the resident experts; staged ones lie as stored, and there are none beside packed ones. */
    ExpertForm form() {
        return form;
    }

    ExpertAddresses resident() {
        return resident;
    }

    ExpertAddresses staged() {
        return staged;
    }

    @Override
    public boolean readsAhead() {
        return !complete && source.readsAhead();
    }

    /** Passes experts that will probably be needed (ascending) on to the source. */
    void expect(BitSet chosen) {
        int[] experts = chosen.stream().toArray();
        source.expect(layer, experts, experts.length);
    }

    /** Whether steps change which experts are in addressable memory. */
    boolean adapts() {
        return !complete && source.adapts();
    }

    /** Tells the source what a step uses: one entry for every row and choice. */
    void used(int[] choices, int count) {
        source.used(layer, choices, count);
    }

    /** Where a missed expert is read to so that it stays, or null. */
    @Nullable
    MemorySegment admit(int expert) {
        ExpertSource.Admitted admitted = source.admit(layer, expert);
        if (admitted == null) {
            return null;
        }
        if (admitted.loser() >= 0) {
            resident.remove(admitted.loser());
        }
        return admitted.place();
    }

    /** An admitted expert was read, or could not be. */
    void settle(int expert, boolean read) {
        source.settle(layer, expert, read);
        if (read) {
            locate(expert);
        }
    }

    /** Whether every expert is read where it lies. */
    boolean complete() {
        return complete;
    }

    /** Whether the source has the expert in addressable memory now. */
    boolean locate(int expert) {
        ExpertView view = source.view(layer, expert);
        if (view == null) {
            return false;
        }
        resident.put(
                expert, view.gate().address(), view.up().address(), view.down().address());
        resident.factors(expert, view.gateScale(), view.upScale(), view.downScale());
        return true;
    }

    /** Bytes that {@link #read} needs for a blob. */
    long readBytes() {
        return Math.max(layout.blobBytes(), source.partsBytes(layer));
    }

    /**
     * Copies the blobs of experts (ascending) as one batch; any thread.
     *
     * @param parts where their parts lie afterwards; null when all of them have to be whole
     */
    void read(int[] experts, MemorySegment[] blobs, BlobParts @Nullable [] parts) {
        if (parts == null) {
            source.copyBlobs(layer, experts, experts.length, blobs);
        } else {
            source.copyInParts(layer, experts, experts.length, blobs, parts, 0);
        }
    }

    /** Products waited for blobs. */
    void waited(long nanos) {
        source.waited(nanos);
    }

    /** Enters a blob that was read among the staged ones. */
    void enter(int expert, MemorySegment blob, @Nullable BlobParts parts) {
        if (parts == null) {
            staged.putBlob(expert, layout, blob.address());
        } else {
            staged.putParts(expert, layout, blob.address(), parts);
        }
    }

    static ExpertTable of(ExpertLayer layer) {
        if (layer instanceof ExpertTable table) {
            return table;
        }
        throw new IllegalArgumentException("experts of another backend: " + layer);
    }
}
