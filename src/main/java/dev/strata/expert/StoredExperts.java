package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import java.util.List;

/**
 * The experts of one layer as the model's files hold them.
 *
 * @param scales factors of every expert in the order gate, up, down; empty when the layout is not scaled
 */
public record StoredExperts(
        ExpertLayout layout, StoredMatrices gate, StoredMatrices up, StoredMatrices down, List<float[]> scales) {

    /** The factor on part {@code part} (0 gate, 1 up, 2 down) of an expert. */
    public float scale(int part, int expert) {
        return scales.isEmpty() ? 1 : scales.get(part)[expert];
    }
}
