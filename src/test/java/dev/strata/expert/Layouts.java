package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import dev.strata.format.QuantType;
import java.util.ArrayList;
import java.util.List;

/** Small shapes for tests. */
public final class Layouts {
    private Layouts() {}

    /** {@code layers} layers of {@code experts} Q8_0 experts of 64 x 32. */
    public static ArenaLayout small(int layers, int experts) {
        return of(layers, experts, 64, 32, QuantType.Q8_0, false);
    }

    /** Layers of one shape. */
    public static ArenaLayout of(
            int layers, int experts, int hidden, int intermediate, QuantType type, boolean scaled) {
        List<ExpertLayout> layouts = new ArrayList<>();
        for (int layer = 0; layer < layers; layer++) {
            layouts.add(new ExpertLayout(layer, experts, hidden, intermediate, type, type, type, scaled));
        }
        return new ArenaLayout(layouts);
    }

    /** Three layers of very small blobs of different sizes. */
    public static ArenaLayout tiny(int experts) {
        return new ArenaLayout(List.of(
                new ExpertLayout(0, experts, 32, 2, QuantType.F32, QuantType.F32, QuantType.F32, false),
                new ExpertLayout(1, experts, 32, 1, QuantType.F32, QuantType.F32, QuantType.F32, true),
                new ExpertLayout(2, experts, 32, 4, QuantType.F32, QuantType.F32, QuantType.F32, false)));
    }

    /** Layers whose blobs differ in size. */
    public static ArenaLayout mixed(int experts) {
        return new ArenaLayout(List.of(
                new ExpertLayout(0, experts, 64, 32, QuantType.Q8_0, QuantType.Q8_0, QuantType.Q8_0, false),
                new ExpertLayout(1, experts, 64, 32, QuantType.Q4_0, QuantType.Q4_0, QuantType.Q8_0, true),
                new ExpertLayout(2, experts, 64, 64, QuantType.F16, QuantType.F16, QuantType.Q8_0, false)));
    }
}
