package dev.strata.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The kernel's small text files below a root. Missing files read as empty. */
final class ProcFiles {
    private final Path root;

    ProcFiles(Path root) {
        this.root = root;
    }

    boolean exists(String path) {
        return Files.isDirectory(root.resolve(path));
    }

    List<String> lines(String path) {
        try {
            return Files.readAllLines(root.resolve(path));
        } catch (IOException missing) {
            return List.of();
        }
    }

    /** First line without surrounding blanks, or empty. */
    String line(String path) {
        List<String> lines = lines(path);
        return lines.isEmpty() ? "" : lines.getFirst().strip();
    }

    /** A file that holds one number; the words {@code max} and {@code unlimited} count as no limit. */
    OptionalLong number(String path) {
        return parse(line(path));
    }

    /** A value of a file of {@code key value} lines. */
    OptionalLong keyed(String path, String key) {
        for (String line : lines(path)) {
            String[] words = line.split("\\s+");
            if (words.length >= 2 && words[0].equals(key)) {
                return parse(words[1]);
            }
        }
        return OptionalLong.empty();
    }

    Optional<Long> meminfo(String key) {
        OptionalLong kib = keyed("proc/meminfo", key + ":");
        return kib.isPresent() ? Optional.of(kib.getAsLong() << 10) : Optional.empty();
    }

    /** Soft limit of locked memory; no limit when unknown. */
    long lockedMemoryLimit() {
        for (String line : lines("proc/self/limits")) {
            if (line.startsWith("Max locked memory")) {
                String[] words =
                        line.substring("Max locked memory".length()).strip().split("\\s+");
                return parse(words[0]).orElse(Long.MAX_VALUE);
            }
        }
        return Long.MAX_VALUE;
    }

    private static OptionalLong parse(String text) {
        if (text.equals("max") || text.equals("unlimited")) {
            return OptionalLong.of(Long.MAX_VALUE);
        }
        try {
            return OptionalLong.of(Long.parseUnsignedLong(text) < 0 ? Long.MAX_VALUE : Long.parseLong(text));
        } catch (NumberFormatException notANumber) {
            return OptionalLong.empty();
        }
    }
}
