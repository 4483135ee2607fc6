package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import dev.strata.format.ModelFormatException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/**
 * Where the blobs of one layer lie in files.
 *
 * @param slices of every expert: consecutive parts of the blob, from its start
 * @param scales factors of every expert in the order gate, up, down; empty when the slices hold the tail or there is none
 */
public record BlobSlices(ExpertLayout layout, List<List<FileSlice>> slices, List<float[]> scales) {
    /** Slices of the tensors of a model in place: three an expert. */
    public static BlobSlices of(StoredExperts stored, List<Path> files) {
        int experts = stored.layout().experts();
        List<List<FileSlice>> slices = new java.util.ArrayList<>();
        for (int expert = 0; expert < experts; expert++) {
            slices.add(List.of(
                    slice(stored.gate(), expert, files),
                    slice(stored.up(), expert, files),
                    slice(stored.down(), expert, files)));
        }
        return new BlobSlices(stored.layout(), slices, stored.scales());
    }

    private static FileSlice slice(StoredMatrices matrices, int expert, List<Path> files) {
        if (!(matrices instanceof StoredMatrices.InPlace inPlace)) {
            throw new ModelFormatException(files.getFirst()
                    + ": its experts are packed in a form that is not computed with, so they cannot be read from the file"
                    + " while it runs; give the model more memory or turn it into GGUF with strata convert");
        }
        int file = files.indexOf(inPlace.file(expert));
        if (file < 0) {
            throw new IllegalArgumentException(inPlace.file(expert) + " is not among the model's files");
        }
        return new FileSlice(file, inPlace.offset(expert), inPlace.bytes());
    }

    List<FileSlice> slices(int expert) {
        return slices.get(expert);
    }

    /** Writes what does not come from the files. */
    void finish(int expert, MemorySegment blob) {
        if (layout.scaled() && !scales.isEmpty()) {
            BlobViews.writeTail(layout, blob, scales.get(0)[expert], scales.get(1)[expert], scales.get(2)[expert]);
        }
    }
}
