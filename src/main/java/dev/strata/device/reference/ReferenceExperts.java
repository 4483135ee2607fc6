package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/** The experts of one layer, read where they lie or copied out of their source for one use. */
record ReferenceExperts(ExpertSource source, int layer) implements ExpertLayer {
    @Override
    public ExpertLayout layout() {
        return source.layout(layer);
    }

    @Override
    public boolean readsAhead() {
        return source.readsAhead();
    }

    /** Passes the experts that the first {@code choices} ids name on to the source, ascending. */
    void expect(MemorySegment ids, int choices) {
        BitSet chosen = new BitSet();
        for (int i = 0; i < choices; i++) {
            chosen.set(ids.getAtIndex(JAVA_INT, i));
        }
        int[] experts = chosen.stream().toArray();
        source.expect(layer, experts, experts.length);
    }

    /** The matrices of an expert; what has to be copied is allocated in {@code scratch}. */
    ExpertView view(int expert, Arena scratch) {
        ExpertView view = source.view(layer, expert);
        if (view != null) {
            return view;
        }
        ExpertLayout layout = layout();
        MemorySegment blob = scratch.allocate(layout.blobBytes(), 64);
        source.copyBlob(layer, expert, blob);
        return new ExpertView(
                blob.asSlice(0, layout.gateBytes()),
                blob.asSlice(layout.upOffset(), layout.upBytes()),
                blob.asSlice(layout.downOffset(), layout.downBytes()),
                factor(blob, layout, 0),
                factor(blob, layout, 1),
                factor(blob, layout, 2));
    }

    private static float factor(MemorySegment blob, ExpertLayout layout, int index) {
        return layout.scaled() ? blob.get(JAVA_FLOAT_UNALIGNED, layout.tailOffset() + 4L * index) : 1;
    }
}
