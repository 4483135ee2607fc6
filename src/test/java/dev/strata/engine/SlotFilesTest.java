package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.model.ModelConfig.Architecture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SlotFilesTest {
    private static final int[] PROMPT = EngineFixture.tokens(150, 3);

    @TempDir
    Path folder = Path.of("");

    private EngineFixture engine(Architecture architecture, int weights, @Nullable Path path) {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.architecture = architecture;
        byte[] fingerprint = new byte[SlotFile.FINGERPRINT_BYTES];
        fingerprint[0] = (byte) weights;
        builder.slotFolder = path == null ? null : new SlotFolder(path, "fake on fake", () -> fingerprint);
        return builder.start();
    }

    private int save(Architecture architecture, String name) {
        try (EngineFixture fixture = engine(architecture, 1, folder)) {
            fixture.run(EngineFixture.request(EngineFixture.prompt(PROMPT), 10));
            return fixture.engine.saveSlot(0, name);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"QWEN4_EXP", "QWEN3_MOE"})
    void aTextGoesOnAfterARestart(Architecture architecture) {
        assertEquals(159, save(architecture, "talk.bin"), "the prompt and all but the last token");
        try (EngineFixture fixture = engine(architecture, 1, folder)) {
            assertEquals(159, fixture.engine.restoreSlot(0, "talk.bin"));
            assertEquals(159, fixture.engine.restoreSlot(0, "talk.bin"), "twice does no harm");
            int[] answer = FakeModel.continuation(PROMPT, 10);
            int[] next = Arrays.copyOf(PROMPT, 163);
            System.arraycopy(answer, 0, next, 150, 10);
            next[160] = 7;
            next[161] = 8;
            next[162] = 9;
            // The fake model checks that the pages and states are those of the text.
            Collector collector = fixture.run(EngineFixture.request(EngineFixture.prompt(next), 5));
            assertEquals(EngineFixture.expected(next, 5), collector.text());
            assertEquals(159, collector.end().usage().cachedTokens());
            assertEquals(168, fixture.store().places().facts().getFirst().get("n_tokens"));
        }
    }

    private static ApiError refused(EngineFixture fixture, String name) {
        return assertThrows(ApiException.class, () -> fixture.engine.restoreSlot(0, name))
                .error();
    }

    private static void assertRefused(EngineFixture fixture, String name, String why) {
        int free = fixture.store().pages().free();
        int slots = fixture.store().slots().free();
        ApiError error = refused(fixture, name);
        assertTrue(error.message().contains(why), error.message());
        assertEquals(free, fixture.store().pages().free());
        assertEquals(slots, fixture.store().slots().free());
    }

    @Test
    void theEndOfThePromptIsSavedToo() {
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 1, folder)) {
            fixture.run(EngineFixture.request(EngineFixture.prompt(PROMPT), 10));
            assertEquals(159, fixture.engine.saveSlot(0, "talk.bin"));
        }
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 1, folder)) {
            assertEquals(159, fixture.engine.restoreSlot(0, "talk.bin"));
            int[] other = Arrays.copyOf(PROMPT, 152);
            other[150] = 3;
            other[151] = 4;
            Collector collector = fixture.run(EngineFixture.request(EngineFixture.prompt(other), 5));
            assertEquals(EngineFixture.expected(other, 5), collector.text());
            assertEquals(150, collector.end().usage().cachedTokens(), "states behind the prompt");
        }
    }

    @Test
    void otherFilesAreRefusedAndLeaveNothingBehind() throws IOException {
        save(Architecture.QWEN4_EXP, "good.bin");
        byte[] good = Files.readAllBytes(folder.resolve("good.bin"));
        byte[] flipped = good.clone();
        flipped[good.length - 100] ^= 1;
        Files.write(folder.resolve("flipped.bin"), flipped);
        Files.write(folder.resolve("cut.bin"), Arrays.copyOf(good, good.length - 100));
        Files.write(folder.resolve("head.bin"), Arrays.copyOf(good, 90));
        Files.write(folder.resolve("tiny.bin"), new byte[10]);
        Files.write(
                folder.resolve("text.bin"),
                "This is no slot file, but it is long enough to hold a head. "
                        .repeat(9)
                        .getBytes());
        byte[] newer = good.clone();
        newer[8] = 2;
        Files.write(folder.resolve("newer.bin"), newer);
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 1, folder)) {
            assertRefused(fixture, "flipped.bin", "its checksum is wrong");
            assertRefused(
                    fixture, "cut.bin", "it should have " + good.length + " bytes and has " + (good.length - 100));
            assertRefused(fixture, "head.bin", "for which it is too short");
            assertRefused(fixture, "tiny.bin", "it has only 10 bytes");
            assertRefused(fixture, "text.bin", "it does not begin with STRATASL");
            assertRefused(fixture, "newer.bin", "it has version 2, this build reads version 1");
            assertEquals(ApiError.Kind.NOT_FOUND, refused(fixture, "absent.bin").kind());
            assertEquals(159, fixture.engine.restoreSlot(0, "good.bin"));
        }
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 2, folder)) {
            assertRefused(fixture, "good.bin", "it was saved by fake on fake, with other weights or another layout");
        }
    }

    @Test
    void whatCannotBeSavedSaysWhy() {
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 1, folder)) {
            assertEquals(
                    "slot_empty",
                    assertThrows(ApiException.class, () -> fixture.engine.saveSlot(0, "a"))
                            .error()
                            .code());
            assertEquals(
                    "id_slot",
                    assertThrows(ApiException.class, () -> fixture.engine.saveSlot(1, "a"))
                            .error()
                            .parameter());
        }
        try (EngineFixture fixture = engine(Architecture.QWEN4_EXP, 1, null)) {
            assertEquals(
                    "slot_files_off",
                    assertThrows(ApiException.class, () -> fixture.engine.saveSlot(0, "a"))
                            .error()
                            .code());
        }
    }

    @Test
    void savingWhileTheSlotRunsTakesWhatIsCached() throws IOException {
        EngineFixture.Builder builder = new EngineFixture.Builder();
        builder.every = 64;
        builder.slotFolder = new SlotFolder(folder, "fake on fake", () -> new byte[SlotFile.FINGERPRINT_BYTES]);
        try (EngineFixture fixture = builder.start()) {
            Collector collector = fixture.begin(EngineFixture.request(EngineFixture.prompt(PROMPT), 1500));
            collector.awaitBegun();
            assertEquals(150, fixture.engine.saveSlot(0, "running.bin"));
            collector.awaitEnd();
            assertEquals(EngineFixture.expected(PROMPT, 1500), collector.text());
        }
        assertEquals(1, Files.list(folder).count(), "no half files are left");
    }
}
