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
    default @Nullable ExpertView view(int layer, int expert) {
        return null;
    }

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

    /** Bytes that a target of {@link #copyInParts} needs for any blob of a layer. */
    default long partsBytes(int layer) {
        return layout(layer).blobBytes();
    }

    /**
     * Like {@link #copyBlobs(int, int[], int, MemorySegment[])}, for readers that need no blob in one piece: a source may leave gaps between a
     * blob's parts, so that they can be read from a file straight to their places.
     *
     * @param targets {@link #partsBytes} long
     * @param parts where the parts of every blob lie afterwards
     * @param turn of several calls at the same time those with a lower one come first, where something has to wait; 0 for who has no order
     */
    default void copyInParts(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts[] parts, long turn) {
        copyBlobs(layer, experts, count, targets);
        for (int i = 0; i < count; i++) {
            parts[i].whole(layout(layer).blobBytes());
        }
    }

    /** Whether {@link #expect} does anything. */
    default boolean readsAhead() {
        return false;
    }

    /** Tells that the first {@code count} of {@code experts} (ascending) will probably be asked for next; returns at once. */
    default void expect(int layer, int[] experts, int count) {}

    /** Products waited so long for blobs that were being copied. */
    default void waited(long nanos) {}

    /** Whether steps change what lies in RAM: then {@link #used}, {@link #admit} and {@link #settle} tell and ask about every one. */
    default boolean adapts() {
        return false;
    }

    /** A step uses the experts that the first {@code count} of {@code choices} name, one entry for every row and choice. */
    default void used(int layer, int[] choices, int count) {}

    /**
     * Gives a missed expert of the step that was told last the place of one that the step does not use, or null. The loser has no view any
     * more; the newcomer has one after {@link #settle}.
     */
    default @Nullable Admitted admit(int layer, int expert) {
        return null;
    }

    /** The blob of an admitted expert was read to its place, or could not be. */
    default void settle(int layer, int expert, boolean read) {}

    /**
     * A place in RAM.
     *
     * @param loser expert that had it; -1 when the place was free
     * @param place where the newcomer's blob goes
     */
    record Admitted(int loser, MemorySegment place) {}

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
