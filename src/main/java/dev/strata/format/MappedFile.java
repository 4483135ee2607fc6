package dev.strata.format;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A whole file mapped read-only. The mapping lives as long as the arena it was made in. */
public record MappedFile(Path path, MemorySegment bytes) {
    /**
     * Maps a file.
     *
     * @throws ModelFormatException when it does not exist or cannot be read
     */
    public static MappedFile map(Path path, Arena arena) {
        if (!Files.isRegularFile(path)) {
            throw new ModelFormatException(path + ": " + (Files.exists(path) ? "not a regular file" : "no such file"));
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long size = channel.size();
            MemorySegment bytes = size == 0
                    ? MemorySegment.ofArray(new byte[0])
                    : channel.map(FileChannel.MapMode.READ_ONLY, 0, size, arena);
            return new MappedFile(path, bytes);
        } catch (IOException exception) {
            throw new ModelFormatException(path + ": cannot be read: " + exception.getMessage(), exception);
        }
    }

    public long size() {
        return bytes.byteSize();
    }
}
