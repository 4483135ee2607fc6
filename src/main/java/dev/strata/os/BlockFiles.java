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
                }
                return opened;
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
