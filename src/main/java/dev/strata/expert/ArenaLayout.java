package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.memory.Bytes;
import dev.strata.os.HostPages;
import java.util.ArrayList;
import java.util.List;

/**
 * Where blobs lie when all of them are laid out one behind the other, layer-major: expert {@code e} of a layer starts
 * {@code e * stride} bytes into it. Strides are multiples of 256, layers start on pages, so that a layer can be registered alone and
 * neighbouring blobs cross the link in one copy. The end is followed by room for one more blob, which kernels may read past the data.
 */
public final class ArenaLayout {
    private static final long STRIDE_UNIT = 256;

    private final List<ExpertLayout> layouts;
    private final long[] offsets;
    private final long[] strides;
    private final long dataBytes;
    private final long maxStride;

    public ArenaLayout(List<ExpertLayout> layouts) {
        this.layouts = List.copyOf(layouts);
        offsets = new long[layouts.size()];
        strides = new long[layouts.size()];
        long offset = 0;
        long widest = 0;
        for (int layer = 0; layer < strides.length; layer++) {
            strides[layer] = stride(layouts.get(layer));
            offsets[layer] = offset;
            offset = Bytes.roundUp(offset + strides[layer] * layouts.get(layer).experts(), HostPages.SMALL_PAGE);
            widest = Math.max(widest, strides[layer]);
        }
        dataBytes = offset;
        maxStride = widest;
    }

    /** The layout of everything that {@code source} holds. */
    public static ArenaLayout of(ExpertSource source) {
        List<ExpertLayout> layouts = new ArrayList<>();
        for (int layer = 0; layer < source.layers(); layer++) {
            layouts.add(source.layout(layer));
        }
        return new ArenaLayout(layouts);
    }

    /** Bytes from one blob to the next. */
    public static long stride(ExpertLayout layout) {
        return Bytes.roundUp(layout.blobBytes(), STRIDE_UNIT);
    }

    public int layers() {
        return strides.length;
    }

    public ExpertLayout layout(int layer) {
        return layouts.get(layer);
    }

    public int experts(int layer) {
        return layouts.get(layer).experts();
    }

    public long stride(int layer) {
        return strides[layer];
    }

    /** The widest stride of all layers. */
    public long maxStride() {
        return maxStride;
    }

    /** Offset of the layer's first blob. */
    public long offset(int layer) {
        return offsets[layer];
    }

    public long offset(int layer, int expert) {
        return offsets[layer] + expert * strides[layer];
    }

    /** Bytes of a layer's blobs, without the padding behind them. */
    public long layerBytes(int layer) {
        return strides[layer] * experts(layer);
    }

    /** Experts of all layers. */
    public int totalExperts() {
        return layouts.stream().mapToInt(ExpertLayout::experts).sum();
    }

    /** Bytes of all layers. */
    public long dataBytes() {
        return dataBytes;
    }

    /** Bytes to allocate: the data and the guard behind it. */
    public long totalBytes() {
        return dataBytes + maxStride;
    }
}
