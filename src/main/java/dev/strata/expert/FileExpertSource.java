package dev.strata.expert;

import dev.strata.device.BlobParts;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import dev.strata.os.BlockFile;
import dev.strata.os.BlockFiles;
import dev.strata.os.HostPages;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** Experts read from files where they lie, by large requests past the page cache. Nothing of them stays in RAM. */
public final class FileExpertSource implements ExpertSource, FileReads {
    /** Most requests that run at the same time. */
    public static final int DEPTH = 32;

    private final List<BlobSlices> layers;
    private final BlockReader reader;
    private final Queue<HostPages> raw = new ConcurrentLinkedQueue<>();

    /** Many threads wait for reads; when all of them make matrices nobody else has a processor, the compiler of that code among them. */
    private final Semaphore makers = new Semaphore(Runtime.getRuntime().availableProcessors());

    private FileExpertSource(List<BlobSlices> layers, BlockReader reader) {
        this.layers = List.copyOf(layers);
        this.reader = reader;
    }

    /**
     * Opens the files.
     *
     * @param paths the files, numbered as in the slices
     * @param unbuffered whether to read past the page cache where the file system allows it
     * @param depth requests that run at the same time
     */
    public static FileExpertSource open(List<Path> paths, List<BlobSlices> layers, boolean unbuffered, int depth) {
        return BlockFiles.open(paths, unbuffered, files -> over(paths, files, layers, depth));
    }

    /** Reads from files that were opened already. */
    static FileExpertSource over(List<Path> paths, List<BlockFile> files, List<BlobSlices> layers, int depth)
            throws IOException {
        return new FileExpertSource(layers, BlockReader.of(paths, files, depth));
    }

    @Override
    public int layers() {
        return layers.size();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layers.get(layer).layout();
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        copyBlobs(layer, new int[] {expert}, 1, new MemorySegment[] {target});
    }

    @Override
    public void copyBlobs(int layer, int[] experts, int count, MemorySegment[] targets) {
        read(layer, experts, count, targets, null, 0);
    }

    /** Blocks of the files are larger than what matrices are aligned to, so that every part of a blob may have to start later. */
    @Override
    public long partsBytes(int layer) {
        BlobSlices blobs = layers.get(layer);
        long bytes = blobs.layout().blobBytes();
        return blobs.maker() == null ? bytes + (long) blobs.mostSlices() * (reader.alignment() - 1) : bytes;
    }

    @Override
    public void copyInParts(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts[] parts, long turn) {
        read(layer, experts, count, targets, parts, turn);
    }

    /** @param parts null when blobs have to be whole */
    private void read(
            int layer, int[] experts, int count, MemorySegment[] targets, BlobParts @Nullable [] parts, long turn) {
        BlobSlices blobs = layers.get(layer);
        BlobSlices.Maker maker = blobs.maker();
        if (maker != null) {
            make(blobs, maker, experts, count, targets, turn);
            for (int i = 0; parts != null && i < count; i++) {
                parts[i].whole(blobs.layout().blobBytes());
            }
            return;
        }
        List<ReadPlan.Wanted> wanted = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            add(wanted, blobs, experts[i], targets[i], parts == null ? null : parts[i]);
        }
        reader.read(wanted, turn);
    }

    private void add(
            List<ReadPlan.Wanted> wanted,
            BlobSlices blobs,
            int expert,
            MemorySegment target,
            @Nullable BlobParts parts) {
        if (parts != null) {
            parts.clear();
        }
        long at = 0;
        long blob = 0;
        for (FileSlice slice : blobs.slices(expert)) {
            if (parts != null) {
                at += Math.floorMod(slice.offset() - target.address() - at, reader.alignment());
                parts.add(at, slice.bytes());
            }
            wanted.add(new ReadPlan.Wanted(slice, target, at));
            at += slice.bytes();
            blob += slice.bytes();
        }
        long made = blobs.layout().blobBytes() - blob;
        if (made > 0) {
            blobs.finish(expert, target.asSlice(at - blob));
            if (parts != null) {
                parts.add(at, made);
            }
        }
    }

    /** Reads what the blobs are made from to memory of our own, then makes them. */
    private void make(
            BlobSlices blobs, BlobSlices.Maker maker, int[] experts, int count, MemorySegment[] targets, long turn) {
        // Where slices lie in memory as they lie in the file's blocks, they are read to there.
        long[] starts = new long[count];
        long end = 0;
        for (int i = 0; i < count; i++) {
            long offset = blobs.slices(experts[i]).getFirst().offset();
            starts[i] = end + Math.floorMod(offset - end, reader.alignment());
            end = starts[i] + blobs.readBytes(experts[i]);
        }
        HostPages pages = take(end);
        try {
            List<ReadPlan.Wanted> wanted = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                long offset = starts[i];
                for (FileSlice slice : blobs.slices(experts[i])) {
                    wanted.add(new ReadPlan.Wanted(slice, pages.memory(), offset));
                    offset += slice.bytes();
                }
            }
            reader.read(wanted, turn);
            for (int i = 0; i < count; i++) {
                long bytes = blobs.readBytes(experts[i]);
                makers.acquireUninterruptibly();
                try {
                    maker.make(experts[i], pages.memory().asSlice(starts[i], bytes), targets[i]);
                } finally {
                    makers.release();
                }
                blobs.finish(experts[i], targets[i]);
            }
        } finally {
            raw.add(pages);
        }
    }

    private HostPages take(long bytes) {
        HostPages pages = raw.poll();
        if (pages != null && pages.bytes() >= bytes) {
            return pages;
        }
        if (pages != null) {
            pages.close();
        }
        return HostPages.allocate(bytes, "packed experts");
    }

    @Override
    public void waited(long nanos) {
        counters().waited(nanos);
    }

    @Override
    public boolean isUnbuffered() {
        return reader.isDirect();
    }

    @Override
    public ReadCounters counters() {
        return reader.counters();
    }

    @Override
    public void close() {
        reader.close();
        raw.forEach(HostPages::close);
        raw.clear();
    }
}
