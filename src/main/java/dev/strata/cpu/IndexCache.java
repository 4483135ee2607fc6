package dev.strata.cpu;

import dev.strata.device.Batch;
import dev.strata.device.HostBuffer;
import dev.strata.device.HostUnits;
import dev.strata.device.IndexerShape;
import dev.strata.device.LayerState;
import dev.strata.device.StateUnits;

/** Index keys of one sparse attention layer, float32: raw [pages][64][headSize] and pooled [pages][64 / block][headSize]. */
final class IndexCache implements LayerState.Index {
    private final HostBuffer raw;
    private final HostBuffer pooled;
    private final int pages;

    IndexCache(IndexerShape shape, int pages) {
        this.pages = pages;
        this.raw = HugePages.allocate(4L * pages * Batch.PAGE * shape.headSize(), "index keys");
        this.pooled =
                HugePages.allocate(4L * pages * (Batch.PAGE / shape.block()) * shape.headSize(), "pooled index keys");
    }

    long raw() {
        return raw.address();
    }

    long pooled() {
        return pooled.address();
    }

    @Override
    public StateUnits pages() {
        return new HostUnits(part(raw), part(pooled));
    }

    private HostUnits.Part part(HostBuffer buffer) {
        return new HostUnits.Part(buffer, buffer.bytes() / pages);
    }

    @Override
    public long bytes() {
        return raw.bytes() + pooled.bytes();
    }

    @Override
    public void close() {
        raw.close();
        pooled.close();
    }
}
