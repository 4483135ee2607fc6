package dev.strata;

import static org.junit.jupiter.api.Assertions.assertFalse;
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

/** The table in docs/api.md of what users ask for: every line names tests that exist, or says why there is none. */
class UsersAskTest {
    private static final Pattern NAME = Pattern.compile("`(\\w+Test)(?:\\.(\\w+))?`");

    @Test
    void everyPointHasATestThatExists() throws IOException {
        Map<String, String> sources = new HashMap<>();
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith("Test.java")).toList()) {
                sources.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
            }
        }
        List<String> wrong = new ArrayList<>();
        int points = 0;
        String page = Files.readString(Path.of("docs/api.md"));
        for (String line : page.substring(page.indexOf("## What users of such servers ask for"))
                .lines()
                .toList()) {
            String[] cells = line.split(" \\| ?");
            if (!line.startsWith("| ") || line.startsWith("| point") || line.startsWith("| ---")) {
                continue;
            }
            points++;
            Matcher names = NAME.matcher(line);
            int found = 0;
            while (names.find()) {
                found++;
                String source = sources.get(names.group(1));
                if (source == null || (names.group(2) != null && !source.contains("void " + names.group(2) + "("))) {
                    wrong.add(names.group());
                }
            }
            assertFalse(found == 0 && !cells[1].startsWith("no test: "), line);
        }
        assertTrue(wrong.isEmpty(), "no such tests: " + wrong);
        assertTrue(points >= 80, points + " points");
    }
}
