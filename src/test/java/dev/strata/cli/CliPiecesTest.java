package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.ConfigurationException;
import dev.strata.config.EngineOptions;
import dev.strata.config.PrecisionChoice;
import dev.strata.server.http.Limits;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class CliPiecesTest {
    @TempDir
    Path folder = Path.of("");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return StrataCommand.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
    }

    @Test
    void jsonIsEscapedAndKeepsItsOrder() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("b", List.of(1, 2.5, true));
        map.put("a", "\"\\\n\u0001é");
        map.put("n", Double.NaN);
        assertEquals("{\"b\":[1,2.5,true],\"a\":\"\\\"\\\\\\n\\u0001é\",\"n\":null}", JsonText.of(map));
    }

    @Test
    void tokenArraysAreRead() {
        assertArrayEquals(new int[] {1, 22, 3}, TokenArray.parse(" [1, 22,3]\n", "x"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "1, 2", "[1,,2]", "[1.5]", "{\"a\":1}"})
    void otherTextsAreRefusedByName(String text) {
        ConfigurationException error =
                assertThrows(ConfigurationException.class, () -> TokenArray.parse(text, "prompt.json"));
        assertTrue(String.valueOf(error.getMessage()).startsWith("prompt.json "));
    }

    @Test
    void aFolderMeansTheModelInIt() throws IOException {
        assertEquals(folder, ModelPath.resolve(folder), "a folder of safetensors");
        Path first = Files.createFile(folder.resolve("m-00001-of-00002.gguf"));
        Files.createFile(folder.resolve("m-00002-of-00002.gguf"));
        assertEquals(first, ModelPath.resolve(folder));
        Files.createFile(folder.resolve("other.gguf"));
        ConfigurationException error = assertThrows(ConfigurationException.class, () -> ModelPath.resolve(folder));
        assertTrue(String.valueOf(error.getMessage()).contains("other.gguf"));
    }

    @ParameterizedTest
    @CsvSource({
        "--spec 9, --spec 9 cannot be used: it accepts a number from 1 to 8",
        "--parallel 0, --parallel 0 cannot be used: it accepts a number from 1 on",
        "--port 70000, --port 70000 cannot be used: it accepts a number from 0 to 65535",
        "--spec-min-p 1.5, --spec-min-p 1.5 cannot be used: it accepts a number from 0 to 1",
        "--max-request-mib 0, --max-request-mib 0 cannot be used: it accepts a number from 1 to 1024",
        "--header-timeout 0, --header-timeout 0 cannot be used: it accepts a number from 1 on",
        "--max-per-key 0, --max-per-key 0 cannot be used: it accepts a number from 1 on",
        "--modle x, unknown flag --modle; did you mean --model?",
        "--backend gpu, Invalid value for option '--backend'",
        "--model /nowhere/at.gguf, /nowhere/at.gguf does not exist"
    })
    void wrongValuesAreExitCodeTwoAndNamed(String flags, String message) {
        String[] words = ("--serve " + flags).split(" ");
        assertEquals(2, run(words), Arrays.toString(words));
        assertTrue(err.toString().contains(message), err.toString());
    }

    @Test
    void limitsOfTheServerAreFlags() {
        String flags = "--max-request-mib 2 --max-header-kib 8 --header-timeout 3 --body-timeout 4 --idle-timeout 5"
                + " --slow-reader-timeout 6 --max-connections 7 --max-per-key 8";
        Limits limits = CommandLine.populateCommand(new ServerFlags(), flags.split(" "))
                .options()
                .limits();
        assertEquals(2 << 20, limits.bodyBytes());
        assertEquals(8 << 10, limits.headerBytes());
        assertEquals(
                List.of(3L, 4L, 5L, 6L),
                List.of(
                        limits.headerTime().toSeconds(),
                        limits.bodyTime().toSeconds(),
                        limits.idleTime().toSeconds(),
                        limits.slowReader().toSeconds()));
        assertEquals(List.of(7, 8), List.of(limits.connections(), limits.requestsPerKey()));
        assertEquals(
                Limits.DEFAULTS,
                CommandLine.populateCommand(new ServerFlags()).options().limits());
    }

    @Test
    void everyFlagOfTheServerIsExplained() throws IOException {
        StringBuilder pages = new StringBuilder(Files.readString(Path.of("README.md")));
        try (Stream<Path> docs = Files.list(Path.of("docs"))) {
            for (Path page :
                    docs.filter(path -> path.toString().endsWith(".md")).toList()) {
                pages.append(Files.readString(page));
            }
        }
        List<String> missing = new ArrayList<>();
        for (Object flags : List.of(new ServerFlags(), new LimitFlags(), new EngineFlags())) {
            for (CommandLine.Model.OptionSpec option :
                    CommandLine.Model.CommandSpec.forAnnotatedObject(flags).options()) {
                if (!pages.toString().contains("`" + option.longestName())) {
                    missing.add(option.longestName());
                }
            }
        }
        assertEquals(List.of(), missing);
    }

    @Test
    void anUnknownVerbNamesTheNearest() {
        assertEquals(2, run("tokenise"));
        assertTrue(err.toString().contains("unknown word tokenise; did you mean tokenize?"), err.toString());
    }

    @Test
    void everyVerbIsInTheHelp() {
        assertEquals(0, run("--help"));
        for (String verb : List.of("chat", "bench", "logits", "tokenize", "convert", "doctor")) {
            assertTrue(out.toString().contains("  " + verb), verb);
        }
    }

    @Test
    void theDoctorLooksAtEverything() {
        assertEquals(0, run("doctor"));
        for (String what : List.of("Java", "memory", "C++ kernels", "card", "default model")) {
            assertTrue(out.toString().contains(what), out.toString());
        }
    }

    @Test
    void thePrecisionOfACardCanBeChosen() {
        assertEquals(PrecisionChoice.DEFAULT, precision());
        assertEquals(PrecisionChoice.F32, precision("--precision", "f32"));
    }

    private static PrecisionChoice precision(String... arguments) {
        ModelFlags flags = new ModelFlags();
        new CommandLine(flags).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return flags.optionsWithoutModel(EngineOptions.DEFAULTS).engine().precision();
    }
}
