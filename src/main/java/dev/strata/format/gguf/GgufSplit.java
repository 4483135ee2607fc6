package dev.strata.format.gguf;

import dev.strata.format.ModelFormatException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Split files: {@code NAME-00001-of-00003.gguf}. Siblings are looked for beside the path that was given, not beside what it links to
 * (caches keep links with the right names to files named by their hash).
 */
record GgufSplit(Path directory, String prefix, int count) {
    static final String NUMBER_KEY = "split.no";
    static final String COUNT_KEY = "split.count";
    static final String TENSORS_KEY = "split.tensors.count";

    private static final Pattern NAME = Pattern.compile("(.*)-(\\d{5})-of-(\\d{5})\\.gguf");

    /** The split that a file belongs to by its name; empty for a file on its own. */
    static Optional<GgufSplit> of(Path path) {
        Matcher matcher = NAME.matcher(String.valueOf(path.getFileName()));
        if (!matcher.matches() || Integer.parseInt(matcher.group(3)) < 1) {
            return Optional.empty();
        }
        Path parent = path.getParent();
        return Optional.of(new GgufSplit(
                parent == null ? Path.of("") : parent, matcher.group(1), Integer.parseInt(matcher.group(3))));
    }

    /** The file of shard {@code index}, counted from 0. */
    Path shard(int index) {
        return directory.resolve(String.format("%s-%05d-of-%05d.gguf", prefix, index + 1, count));
    }

    /**
     * All shards in order.
     *
     * @throws ModelFormatException naming every missing one
     */
    List<Path> shards(Path given) {
        List<Path> found = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Path shard = shard(i);
            if (Files.exists(shard)) {
                found.add(shard);
            } else if (missing.size() < 8) {
                missing.add(String.valueOf(shard.getFileName()));
            }
        }
        if (found.size() < count) {
            throw new ModelFormatException(
                    given + ": " + (count - found.size()) + " of " + count + " shards are missing beside it: "
                            + String.join(", ", missing) + (count - found.size() > missing.size() ? ", ..." : ""));
        }
        return found;
    }

    /** Checks the split keys of one shard against its file name. */
    static void check(Path path, Map<String, Object> metadata, int index, int count) {
        expect(path, metadata, COUNT_KEY, count, "files the file name says");
        expect(path, metadata, NUMBER_KEY, index, "(counted from 0) the file name says");
    }

    private static void expect(Path path, Map<String, Object> metadata, String key, long expected, String source) {
        Object value = metadata.get(key);
        if (count(value) != expected) {
            throw new ModelFormatException(
                    path + ": key " + key + " and the file name disagree: " + (value == null ? "absent" : value)
                            + " and " + expected + " " + source + "; were shards renamed or mixed?");
        }
    }

    private static long count(@Nullable Object value) {
        return value instanceof Long number ? number : -1;
    }
}
