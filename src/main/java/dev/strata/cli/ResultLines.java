package dev.strata.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Results of a benchmark, a line of JSON each, printed as soon as they are there.
 *
 * @param file where they are appended too, or null
 */
record ResultLines(PrintWriter out, @Nullable Path file) {
    void tell(Map<String, Object> result) {
        String line = JsonText.of(result).replace("\n", " ");
        out.println(line);
        out.flush();
        Path target = file;
        if (target != null) {
            try {
                Files.writeString(
                        target,
                        line + "\n",
                        StandardCharsets.UTF_8,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }
}
