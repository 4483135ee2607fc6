package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules of the kernel sources that no compiler checks. */
class KernelSourcesTest {
    private static final Pattern FUNCTION = Pattern.compile(
            "STRATA_INLINE void (\\w+)\\(|STRATA_(?:RESIDENT_)?KERNEL(?:_ALONE)?\\((?:\\d+, |threads, )+([\\w#]+),");

    /** A kernel that does not wait may run while the one before it still reads what it overwrites. */
    @Test
    void everyKernelWaitsForTheOneBefore() throws IOException {
        List<String> careless = new ArrayList<>();
        int kernels = 0;
        String shared = Files.readString(Path.of("native/cuda/attention_rows.cuh"));
        for (Path source : sources()) {
            String text = (shared + Files.readString(source)).replace("\\\n", "\n");
            Map<String, Boolean> waits = new HashMap<>();
            Matcher function = FUNCTION.matcher(text);
            while (function.find()) {
                String body = body(text, function.end());
                boolean itself = body.contains("wait_for_previous_kernel();") || body.contains("team.wait();");
                boolean called = waits.entrySet().stream()
                        .anyMatch(entry ->
                                entry.getValue() && body.matches("(?s).*\\b" + entry.getKey() + "(<[^>]*>)?\\(.*"));
                if (function.group(1) != null) {
                    waits.put(function.group(1), itself || called);
                    continue;
                }
                kernels++;
                if (!itself && !called) {
                    careless.add(source.getFileName() + ": " + function.group(2));
                }
            }
        }
        assertTrue(kernels > 30, "found " + kernels + " kernels");
        assertEquals(List.of(), careless);
    }

    @Test
    void everyFileSaysWhatItDoes() throws IOException {
        for (Path source : sources()) {
            assertTrue(Files.readString(source).startsWith("// "), source + " needs a header comment");
        }
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("native/cuda"))) {
            return files.filter(file -> file.toString().endsWith(".cu"))
                    .sorted()
                    .toList();
        }
    }

    /** The text between the braces that open behind {@code from}. */
    private static String body(String text, int from) {
        int open = text.indexOf('{', from);
        int depth = 0;
        for (int i = open; i < text.length(); i++) {
            char c = text.charAt(i);
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            if (depth == 0) {
                return text.substring(open, i);
            }
        }
        return text.substring(open);
    }
}
