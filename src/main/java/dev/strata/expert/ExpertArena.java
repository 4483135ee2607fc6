package dev.strata.expert;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.device.ExpertView;
import dev.strata.os.HostPages;
import dev.strata.os.Outcome;
import dev.strata.os.PageKind;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** All expert blobs of a model in RAM, in one mapping of huge pages. Filled by {@link ArenaLoader}. */
public final class ExpertArena implements ExpertSource {
    private final ArenaLayout layout;
    private final HostPages pages;
    private final AtomicReferenceArray<@Nullable ExpertView> views;
    private final int[] firstView;

    private ExpertArena(ArenaLayout layout, HostPages pages) {
        this.layout = layout;
        this.pages = pages;
        firstView = new int[layout.layers()];
        int next = 0;
        for (int layer = 0; layer < firstView.length; layer++) {
            firstView[layer] = next;
            next += layout.experts(layer);
        }
        views = new AtomicReferenceArray<>(next);
    }

    /**
     * Maps memory for all blobs of {@code layout}; its pages are touched when they are filled.
     *
     * @throws OutOfMemoryError naming the sizes
     */
    public static ExpertArena allocate(ArenaLayout layout) {
        return new ExpertArena(layout, HostPages.allocate(layout.totalBytes(), "expert arena"));
    }

    public ArenaLayout arenaLayout() {
        return layout;
    }

    /** Keeps the arena in RAM where the system allows it. */
    public Outcome lock() {
        return pages.lock();
    }

    /** The pages behind it. */
    public PageKind pageKind() {
        return pages.kind();
    }

    /** All bytes, guard included. */
    public MemorySegment memory() {
        return pages.memory();
    }

    /** A layer's blobs, each at its stride. */
    public MemorySegment layer(int layer) {
        return pages.memory().asSlice(layout.offset(layer), layout.layerBytes(layer));
    }

    /** One blob. */
    public MemorySegment blob(int layer, int expert) {
        return pages.memory()
                .asSlice(layout.offset(layer, expert), layout.layout(layer).blobBytes());
    }

    @Override
    public int layers() {
        return layout.layers();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layout.layout(layer);
    }

    /** The matrices in place; only after the arena was filled, since factors are read with the first view. */
    @Override
    public ExpertView view(int layer, int expert) {
        int index = firstView[layer] + expert;
        ExpertView view = views.get(index);
        if (view == null) {
            view = BlobViews.of(layout.layout(layer), blob(layer, expert));
            views.set(index, view);
        }
        return view;
    }

    /** The blob will be another expert's, with other factors. */
    void forgetView(int layer, int expert) {
        views.set(firstView[layer] + expert, null);
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        MemorySegment.copy(
                pages.memory(),
                layout.offset(layer, expert),
                target,
                0,
                layout.layout(layer).blobBytes());
    }

    @Override
    public void close() {
        pages.close();
    }
}
