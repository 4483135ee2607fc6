package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Experts in place in the mapped model files; the operating system's page cache decides what is in RAM. */
public final class MappedExpertSource implements ExpertSource {
    private final List<StoredExperts> layers;

    public MappedExpertSource(List<StoredExperts> layers) {
        this.layers = List.copyOf(layers);
    }

    @Override
    public int layers() {
        return layers.size();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layers.get(layer).layout();
    }

    @Override
    public ExpertView view(int layer, int expert) {
        StoredExperts stored = layers.get(layer);
        return new ExpertView(
                stored.gate().data(expert),
                stored.up().data(expert),
                stored.down().data(expert),
                stored.scale(0, expert),
                stored.scale(1, expert),
                stored.scale(2, expert));
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        StoredExperts stored = layers.get(layer);
        ExpertLayout layout = stored.layout();
        MemorySegment.copy(stored.gate().data(expert), 0, target, 0, layout.gateBytes());
        MemorySegment.copy(stored.up().data(expert), 0, target, layout.upOffset(), layout.upBytes());
        MemorySegment.copy(stored.down().data(expert), 0, target, layout.downOffset(), layout.downBytes());
        if (layout.scaled()) {
            for (int part = 0; part < 3; part++) {
                target.set(JAVA_FLOAT_UNALIGNED, layout.tailOffset() + 4L * part, stored.scale(part, expert));
            }
            target.set(JAVA_INT_UNALIGNED, layout.tailOffset() + 12, 0);
        }
    }

    /** Does nothing: the mapping belongs to the model files. */
    @Override
    public void close() {}
}
