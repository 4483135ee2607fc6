package dev.strata.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens files for reads at given positions, past the page cache where the file system allows it. */
public final class BlockFiles {
    private static final Logger LOG = LoggerFactory.getLogger(BlockFiles.class);

    /** Folders that were warned about, so that many shards give one warning. */
    private static final Set<String> REFUSED = ConcurrentHashMap.newKeySet();

    private BlockFiles() {}

    /** Opens a file through the page cache. */
    public static BlockFile buffered(Path file) throws IOException {
        return new ChannelFile(file, FileChannel.open(file, StandardOpenOption.READ), false, 1);
    }

    /**
     * Opens a file past the page cache and reads its first block to see whether that works. Network and memory file systems often refuse;
     * then the file is opened through the cache and one warning names the reason.
     */
    public static BlockFile unbuffered(Path file) throws IOException {
        String reason;
        try {
            FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, direct());
            try {
                int alignment = (int) Math.max(512, Files.getFileStore(file).getBlockSize());
                ChannelFile opened = new ChannelFile(file, channel, true, alignment);
                try (HostPages block = HostPages.allocate(alignment, "probe of " + file)) {
                    opened.read(block.memory(), 0);
                    return vectored(opened, block.memory());
                }
            } catch (IOException | RuntimeException refused) {
                channel.close();
                reason = refused.toString();
            }
        } catch (IOException | UnsupportedOperationException | ReflectiveOperationException refused) {
            reason = refused.toString();
        }
        Path folder = file.toAbsolutePath().getParent();
        if (REFUSED.add(String.valueOf(folder))) {
            LOG.warn("{}: unbuffered reads are refused ({}), the page cache is used", file, reason);
        }
        return buffered(file);
    }

    /** The same file with reads into several places as one request, where that works. */
    private static BlockFile vectored(ChannelFile opened, MemorySegment block) {
        OperatingSystem system = OperatingSystem.current();
        OptionalInt descriptor = system.openUnbuffered(opened.file);
        if (descriptor.isEmpty()) {
            return opened;
        }
        VectorFile file = new VectorFile(opened, system, descriptor.getAsInt());
        try {
            file.read(new MemorySegment[] {block}, 0);
            return file;
        } catch (IOException refused) {
            LOG.debug("{}: one request for every place: {}", opened.file, refused.getMessage());
            system.close(descriptor.getAsInt());
            return opened;
        }
    }

    /** Takes opened files over. */
    @FunctionalInterface
    public interface Taker<T> {
        T take(List<BlockFile> files) throws IOException;
    }

    /**
     * Opens several files and hands them to {@code taker}; all are closed again when that fails.
     *
     * @param unbuffered whether to read past the page cache where the file system allows it
     */
    public static <T> T open(List<Path> paths, boolean unbuffered, Taker<T> taker) {
        List<BlockFile> files = new ArrayList<>();
        try {
            for (Path path : paths) {
                files.add(unbuffered ? unbuffered(path) : buffered(path));
            }
            return taker.take(files);
        } catch (IOException failed) {
            for (BlockFile file : files) {
                try {
                    file.close();
                } catch (IOException closing) {
                    failed.addSuppressed(closing);
                }
            }
            throw new UncheckedIOException(failed);
        }
    }

    /** The JDK's option for reads past the page cache; by name, since its class belongs to an unsupported module. */
    private static OpenOption direct() throws ReflectiveOperationException {
        Class<?> type = Class.forName("com.sun.nio.file.ExtendedOpenOption");
        for (Object constant : type.getEnumConstants()) {
            if (constant.toString().equals("DIRECT")) {
                return (OpenOption) constant;
            }
        }
        throw new ClassNotFoundException("this Java has no option for unbuffered reads");
    }

    /** A file that is also open for reads into several places. */
    private record VectorFile(ChannelFile file, OperatingSystem system, int descriptor) implements BlockFile {
        @Override
        public int alignment() {
            return file.alignment;
        }

        @Override
        public boolean isDirect() {
            return file.isDirect;
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public Object stamp() throws IOException {
            return file.stamp();
        }

        @Override
        public int read(MemorySegment target, long position) throws IOException {
            return file.read(target, position);
        }

        @Override
        public long read(MemorySegment[] targets, long position) throws IOException {
            long got = system.readVector(descriptor, targets, position);
            DiskActivity.count(got);
            return got;
        }

        @Override
        public void close() throws IOException {
            system.close(descriptor);
            file.close();
        }
    }

    private record ChannelFile(Path file, FileChannel channel, boolean isDirect, int alignment) implements BlockFile {
        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public Object stamp() throws IOException {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return attributes.size() + "/" + attributes.lastModifiedTime().toMillis() + "/" + attributes.fileKey();
        }

        @Override
        public int read(MemorySegment target, long position) throws IOException {
            int got = channel.read(target.asByteBuffer(), position);
            DiskActivity.count(Math.max(0, got));
            return got;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
