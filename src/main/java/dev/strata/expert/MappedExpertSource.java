package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import dev.strata.expert.StoredMatrices.InPlace;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
    public @Nullable ExpertView view(int layer, int expert) {
        StoredExperts stored = layers.get(layer);
        return stored.gate() instanceof InPlace gate
                        && stored.up() instanceof InPlace up
                        && stored.down() instanceof InPlace down
                ? new ExpertView(
                        gate.data(expert),
                        up.data(expert),
                        down.data(expert),
                        stored.scale(0, expert),
                        stored.scale(1, expert),
                        stored.scale(2, expert))
                : null;
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        StoredExperts stored = layers.get(layer);
        ExpertLayout layout = stored.layout();
        stored.gate().copy(expert, target);
        stored.up().copy(expert, target.asSlice(layout.upOffset()));
        stored.down().copy(expert, target.asSlice(layout.downOffset()));
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
