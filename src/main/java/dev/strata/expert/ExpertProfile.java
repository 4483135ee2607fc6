package dev.strata.expert;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * How often experts are used, learned while decoding: {@code heat[layer][expert]}, any unit. A file holds the bytes {@code STRX}, then
 * big-endian int32 version 1, int32 layers, and for every layer int32 experts and as many float32 values.
 */
public record ExpertProfile(float[][] heat) {
    private static final int MAGIC = 0x53545258;
    private static final int VERSION = 1;
    private static final int MOST_LAYERS = 4096;
    private static final int MOST_EXPERTS = 65536;

    /** Every expert of equal heat: experts are taken in turn over the layers. */
    public static ExpertProfile even(ArenaLayout layout) {
        float[][] heat = new float[layout.layers()][];
        for (int layer = 0; layer < heat.length; layer++) {
            heat[layer] = new float[layout.experts(layer)];
        }
        return new ExpertProfile(heat);
    }

    /**
     * Reads a profile and checks that it belongs to a model of this shape.
     *
     * @throws IOException naming the file and what does not fit
     */
    public static ExpertProfile load(Path file, ArenaLayout layout) throws IOException {
        try (InputStream stream = Files.newInputStream(file);
                DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(stream))) {
            if (in.readInt() != MAGIC || in.readInt() != VERSION) {
                throw new IOException(file + " is not an expert profile of version " + VERSION);
            }
            int layers = in.readInt();
            if (layers != layout.layers() || layers > MOST_LAYERS) {
                throw new IOException(
                        file + " has " + layers + " layers with experts where the model has " + layout.layers());
            }
            float[][] heat = new float[layers][];
            for (int layer = 0; layer < layers; layer++) {
                int experts = in.readInt();
                if (experts != layout.experts(layer) || experts > MOST_EXPERTS) {
                    throw new IOException(file + " has " + experts + " experts in layer " + layer
                            + " where the model has " + layout.experts(layer));
                }
                heat[layer] = new float[experts];
                for (int expert = 0; expert < experts; expert++) {
                    float value = in.readFloat();
                    heat[layer][expert] = Float.isFinite(value) ? value : 0;
                }
            }
            return new ExpertProfile(heat);
        }
    }

    /** Writes the profile beside {@code file} and moves it there, so that a crash leaves the old one. */
    public void save(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        Path partial = Files.createTempFile(folder, ".profile", ".part");
        try {
            try (OutputStream stream = Files.newOutputStream(partial);
                    DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(stream))) {
                out.writeInt(MAGIC);
                out.writeInt(VERSION);
                out.writeInt(heat.length);
                for (float[] layer : heat) {
                    out.writeInt(layer.length);
                    for (float value : layer) {
                        out.writeFloat(value);
                    }
                }
            }
            Files.move(partial, file, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(partial);
        }
    }

    /** All experts, hottest first; equals in turn over the layers. */
    public List<ExpertKey> ranking() {
        List<ExpertKey> keys = new ArrayList<>();
        for (int layer = 0; layer < heat.length; layer++) {
            for (int expert = 0; expert < heat[layer].length; expert++) {
                keys.add(new ExpertKey(layer, expert));
            }
        }
        keys.sort(Comparator.<ExpertKey>comparingDouble(key -> -heat[key.layer()][key.expert()])
                .thenComparingInt(ExpertKey::expert)
                .thenComparingInt(ExpertKey::layer));
        return keys;
    }
}
