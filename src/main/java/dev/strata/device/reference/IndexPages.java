package dev.strata.device.reference;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.strata.device.Batch;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;
import dev.strata.device.IndexerShape;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;
import java.lang.foreign.MemorySegment;

/** Raw index keys of every token and the pooled key of every complete block, in the pages of the key-value cache. */
final class IndexPages implements LayerState.Index {
    private final int headSize;
    private final int block;
    private final HostBuffer raw;
    private final HostBuffer pooled;

    IndexPages(IndexerShape shape, int pages) {
        this.headSize = shape.headSize();
        this.block = shape.block();
        this.raw = HostBuffer.allocate(4L * headSize * Batch.PAGE * pages);
        this.pooled = HostBuffer.allocate(4L * headSize * (Batch.PAGE / block) * pages);
    }

    @Override
    public long bytes() {
        return raw.bytes() + pooled.bytes();
    }

    void storeRaw(int[] pages, int position, float[] key) {
        MemorySegment.copy(key, 0, raw.host(), JAVA_FLOAT, rawAt(pages, position), headSize);
    }

    void loadRaw(int[] pages, int position, float[] target) {
        MemorySegment.copy(raw.host(), JAVA_FLOAT, rawAt(pages, position), target, 0, headSize);
    }

    void storePooled(int[] pages, int blockIndex, float[] key) {
        MemorySegment.copy(key, 0, pooled.host(), JAVA_FLOAT, pooledAt(pages, blockIndex), headSize);
    }

    void loadPooled(int[] pages, int blockIndex, float[] target) {
        MemorySegment.copy(pooled.host(), JAVA_FLOAT, pooledAt(pages, blockIndex), target, 0, headSize);
    }

    @Override
    public StateUnits pages() {
        long rawBytes = 4L * headSize * Batch.PAGE;
        return new HostUnits(new HostUnits.Part(raw, rawBytes), new HostUnits.Part(pooled, rawBytes / block));
    }

    private long rawAt(int[] pages, int position) {
        return 4L * headSize * ((long) pages[position / Batch.PAGE] * Batch.PAGE + position % Batch.PAGE);
    }

    private long pooledAt(int[] pages, int blockIndex) {
        int perPage = Batch.PAGE / block;
        return 4L * headSize * ((long) pages[blockIndex / perPage] * perPage + blockIndex % perPage);
    }

    @Override
    public void close() {
        raw.close();
        pooled.close();
    }
}
