package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.GoldenModels;
import dev.strata.format.safetensors.JsonFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** The verbs inspect, convert and synth as a user calls them. */
class ModelVerbsTest {
    private static final String TINY = "models/strata-tiny";
    private static final String SMALL = GoldenModels.folder("qwen3_next").toString();

    @TempDir
    private Path folder = Path.of("");

    private record Run(int code, String out, String err) {}

    private static Run run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = StrataCommand.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
        return new Run(code, out.toString(), err.toString());
    }

    @Test
    void inspectSaysWhatIsInAModel() {
        Run run = run("inspect", TINY, "--tensors", "--metadata");
        assertEquals(0, run.code, run.err);
        for (String part : List.of(
                "strata-tiny (qwen4exp): 8 layers and a draft layer, hidden 256",
                "32 experts a layer, 4 used",
                "experts of layers 0 to 7: down Q5_0, gate Q5_K, up Q5_K",
                "memory plan:",
                "qwen4exp.block_count = 9",
                "blk.3.ffn_up_exps.weight")) {
            assertTrue(run.out.contains(part), () -> part + " is not in " + run.out);
        }
    }

    @Test
    void inspectWritesJson() {
        Run run = run("inspect", TINY, "--json");
        Map<String, Object> json = JsonFile.parse("inspect", run.out);
        assertEquals("GGUF", json.get("container"));
        assertEquals(246L, json.get("tensors"));
        assertTrue(JsonFile.list(json, "roles").size() > 10);
    }

    @Test
    void benchCountsWhatAStepMoves() {
        Run run = run(
                "bench",
                "--model",
                SMALL,
                "--backend",
                "reference",
                "--prompt",
                "9",
                "--decode",
                "3",
                "--repeats",
                "1",
                "--json");
        assertEquals(0, run.code, run.err);
        Map<String, Object> json = JsonFile.parse("bench", run.out);
        Map<?, ?> row = (Map<?, ?>) JsonFile.list(json, "results").getFirst();
        long bytes = ((Number) Objects.requireNonNull(row.get("decode_bytes_per_token"))).longValue();
        assertTrue(bytes > 10_000 && bytes < 10_000_000, row.toString());
    }

    @Test
    void inspectReadsFolders() {
        Run run = run("inspect", SMALL);
        assertEquals(0, run.code, run.err);
        assertTrue(run.out.contains("qwen3next"), run.out);
        assertTrue(run.out.contains("BF16"), run.out);
    }

    @Test
    void convertWritesOnceAndRefusesToOverwrite() throws IOException {
        Path target = folder.resolve("small.gguf");
        Run first = run("convert", SMALL, target.toString(), "--types", "keep,experts=Q8_0");
        assertEquals(0, first.code, first.err);
        assertTrue(first.out.contains("Q8_0"), first.out);
        long size = Files.size(target);
        Run second = run("convert", SMALL, target.toString());
        assertEquals(1, second.code);
        assertTrue(second.err.contains(target + ": is already there; give --force"), second.err);
        assertEquals(size, Files.size(target));
        assertEquals(0, run("convert", SMALL, target.toString(), "--force").code);
        assertTrue(Files.size(target) > size);
    }

    @Test
    void aConversationIsAnsweredLineByLineAndQuietly() {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream("Hi\n/clear\nHi\n/exit\nHi\n".getBytes(StandardCharsets.UTF_8)));
        try {
            Run chat = run("chat", "--model", "models/strata-tiny", "--temperature", "0", "--threads", "2");
            assertEquals(0, chat.code, chat.err);
            assertEquals(
                    List.of("Hello! How can I help you?", "Hello! How can I help you?"),
                    chat.out.lines().filter(line -> !line.isBlank()).toList());
            assertFalse(LoggerFactory.getLogger("dev.strata").isInfoEnabled());
        } finally {
            System.setIn(before);
            ConsoleLogging.setLevel(LogLevel.INFO);
        }
    }

    @Test
    void filesThatCannotBeReadAreToldInWords() throws IOException {
        Path out = folder.resolve("logits.safetensors");
        Path tokens = folder.resolve("tokens.json");
        String[] logits = {"logits", "--model", SMALL, "--tokens-file", tokens.toString(), "--out", out.toString()};
        Run absent = run(logits);
        assertEquals(1, absent.code);
        assertEquals("strata: " + tokens + ": no such file or folder", absent.err.strip());
        Files.write(tokens, new byte[] {(byte) 0xff, (byte) 0xfe});
        Run binary = run(logits);
        assertEquals(1, binary.code);
        assertEquals("strata: " + tokens + ": is not text in UTF-8", binary.err.strip());
        Files.writeString(tokens, "[1, 999999]");
        Run foreign = run(logits);
        assertEquals(2, foreign.code);
        assertTrue(foreign.err.contains(tokens + " holds token 999999, which is not in the vocabulary"), foreign.err);
        assertFalse(Files.exists(out));
        Run decoded = run("tokenize", "--decode", "[999999]");
        assertEquals(2, decoded.code);
        assertTrue(decoded.err.contains("the text holds token 999999"), decoded.err);
    }

    @Test
    void mistakesLeaveNoFile() {
        Path target = folder.resolve("none.gguf");
        Run types = run("convert", SMALL, target.toString(), "--types", "Q7_0");
        assertEquals(2, types.code);
        assertTrue(types.err.contains("--types: type Q7_0 cannot be written"), types.err);
        Run shape = run("synth", "qwen9", target.toString());
        assertEquals(2, shape.code);
        assertTrue(shape.err.contains("shape qwen9 is unknown"), shape.err);
        Run missing = run("inspect", folder.resolve("absent.gguf").toString());
        assertEquals(1, missing.code);
        assertTrue(missing.err.contains("no such file"), missing.err);
        assertFalse(Files.exists(target));
    }
}
