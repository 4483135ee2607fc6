package dev.strata.device;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Where all expert blobs of a model can be read from: RAM, files, or both. Safe for use by many threads. */
public interface ExpertSource extends AutoCloseable {
    /** Number of layers that have experts in this source, numbered from 0. */
    int layers();

    ExpertLayout layout(int layer);

    /** The matrices where they lie in addressable memory, or null when they have to be copied. */
    @Nullable
    ExpertView view(int layer, int expert);

    /**
     * Copies the whole blob to the start of {@code target}.
     *
     * @throws java.io.UncheckedIOException naming file and offset when it cannot be read in full
     */
    void copyBlob(int layer, int expert, MemorySegment target);

    /** Copies the blobs of {@code count} experts from {@code first} on, each to its own target; a file source reads them as one batch. */
    default void copyBlobs(int layer, int first, int count, MemorySegment[] targets) {
        int[] experts = new int[count];
        Arrays.setAll(experts, i -> first + i);
        copyBlobs(layer, experts, count, targets);
    }

    /**
     * Copies the blobs of the first {@code count} of {@code experts} (ascending), each to its own target; a file source reads them as one
     * batch.
     */
    default void copyBlobs(int layer, int[] experts, int count, MemorySegment[] targets) {
        for (int i = 0; i < count; i++) {
            copyBlob(layer, experts[i], targets[i]);
        }
    }

    /** Whether {@link #expect} does anything. */
    default boolean readsAhead() {
        return false;
    }

    /** Tells that the first {@code count} of {@code experts} (ascending) will probably be asked for next; returns at once. */
    default void expect(int layer, int[] experts, int count) {}

    /** Bytes of all blobs. */
    default long totalBytes() {
        long total = 0;
        for (int layer = 0; layer < layers(); layer++) {
            total += layout(layer).blobBytes() * layout(layer).experts();
        }
        return total;
    }

    @Override
    void close();
}
