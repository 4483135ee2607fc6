package dev.strata.engine;

import static dev.strata.engine.EngineFixture.prompt;
import static dev.strata.engine.EngineFixture.request;
import static dev.strata.engine.EngineFixture.tokens;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.api.InferenceService;
import dev.strata.api.ModelInfo;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.SamplingDefaults;
import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.Backend;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FakeFile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileSources;
import dev.strata.expert.LoadProgress;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.GoldenModels;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.ExpertTensors;
import dev.strata.model.Model;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What an engine does whose experts come from a file that is slow, broken or cut: it fails that request and answers the next one. */
class FileFaultTest {
    private static final EngineOptions OPTIONS = new EngineOptions(
            BackendChoice.REFERENCE, 1, KvFormat.F32, 256, 1, 16, 64, 2, 2048, 0, EngineOptions.Speculation.OFF, false);

    /** An engine over a small model whose experts are read from {@link #file}. */
    private static final class Served implements AutoCloseable {
        final ModelFiles files;
        final Backend backend;
        final FakeFile file;
        final FileExpertSource source;
        final Engine engine;

        Served() throws IOException {
            this(ReferenceBackend.create(1), false);
        }

        /** @param following whether half of the experts lie in RAM and follow their use */
        Served(Backend backend, boolean following) throws IOException {
            this.backend = backend;
            Path path = GoldenModels.gguf("qwen3_next");
            files = ModelFileOpener.open(path);
            file = new FakeFile(Files.readAllBytes(path), 4096);
            source = FileSources.over(path, file, ExpertTensors.find(files, ModelConfigReader.hyperparameters(files)));
            ModelOptions room = new ModelOptions(
                    16,
                    8,
                    EngineParts.slots(OPTIONS, ModelConfigReader.read(files).architecture()),
                    KvFormat.F32,
                    false);
            Model model = ModelLoader.load(files, backend, room, following ? following(source) : source, null);
            ModelInfo info = new ModelInfo(
                    "small",
                    List.of(),
                    "fake",
                    1,
                    256,
                    256,
                    model.config().vocabulary(),
                    4,
                    0,
                    false,
                    false,
                    "",
                    "",
                    "",
                    false);
            engine = new Engine(
                    model,
                    new FakeText(),
                    info,
                    new SamplingDefaults(0, 0, 1, 0, 0, 0, 1, -1),
                    new EngineParts.Settings(OPTIONS, 0.5, 0, false, null, () -> null),
                    Map.of(),
                    () -> {},
                    model);
            engine.start();
        }

        private static TieredExpertSource following(FileExpertSource rest) {
            ArenaLayout layout = ArenaLayout.of(rest);
            long budget = layout.dataBytes() / 2 + layout.maxStride() + layout.layers() * 4096L;
            TieredExpertSource source =
                    TieredExpertSource.budget(rest, ExpertProfile.even(layout).ranking(), budget, 1, LoadProgress.NONE);
            source.followUse(ExpertProfile.even(layout), SlotAdaptation.DEFAULTS);
            return source;
        }

        Collector run(int seed) {
            Collector collector = new Collector(1);
            engine.generate(request(prompt(tokens(40, seed)), 3), collector);
            return collector.awaitEnd();
        }

        String text(int seed) {
            return run(seed).text();
        }

        String error(int seed) {
            Collector collector = run(seed);
            assertEquals("engine_error", collector.error().code());
            assertEquals(InferenceService.State.READY, engine.state());
            return collector.error().message();
        }

        @Override
        public void close() {
            engine.close();
            backend.close();
            files.close();
        }
    }

    @Test
    void shortAndFailedReadsAreNotNoticed() throws IOException {
        try (Served served = new Served()) {
            String expected = served.text(1);
            served.file.shortening(count -> count > 8192 ? count - 4096 : count);
            assertEquals(expected, served.text(1));
            assertTrue(served.source.counters().retries() > 0);
            served.file.shortening(count -> count);
            long before = served.source.counters().retries();
            served.file.failing(0, 1);
            assertEquals(expected, served.text(1));
            assertEquals(before + 1, served.source.counters().retries());
        }
    }

    @Test
    void aSlowDriveOnlyTakesTime() throws IOException {
        try (Served served = new Served()) {
            String expected = served.text(2);
            Semaphore gate = new Semaphore(0);
            served.file.shortening(count -> {
                gate.acquireUninterruptibly();
                return count;
            });
            Collector slow = new Collector(1);
            served.engine.generate(request(prompt(tokens(40, 2)), 3), slow);
            gate.release(1_000_000);
            assertEquals(expected, slow.awaitEnd().text());
        }
    }

    @Test
    void aBrokenDriveFailsRequestsNotTheServer() throws IOException {
        try (Served served = new Served()) {
            String expected = served.text(3);
            served.file.failing(0, Integer.MAX_VALUE);
            for (int i = 0; i < 12; i++) {
                String message = served.error(3);
                assertTrue(message.contains("model.gguf") && message.contains("offset"), message);
            }
            served.file.failing(0, 0);
            assertEquals(expected, served.text(3));
        }
    }

    /** Reads that fail at any point leave the experts in RAM what they say they are. */
    @Test
    void aBrokenDriveSpoilsNothingInRam() throws IOException {
        assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
        try (Served served = new Served(CpuBackend.create(CpuSettings.standard().withThreads(1)), true)) {
            String expected = served.text(3);
            int failed = 0;
            for (int after = 0; after < 60; after += 4) {
                served.file.failing(after, Integer.MAX_VALUE);
                failed += served.run(3).hasFailed() ? 1 : 0;
                served.file.failing(0, 0);
                assertEquals(expected, served.text(3));
            }
            assertTrue(failed > 0);
        }
    }

    @Test
    void aFileCutDuringAPromptIsReportedAndNeverServed() throws IOException {
        try (Served served = new Served()) {
            AtomicInteger left = new AtomicInteger(25);
            served.file.shortening(count -> {
                if (left.decrementAndGet() == 0) {
                    served.file.truncate(10_000);
                }
                return count;
            });
            String message = served.error(4);
            assertTrue(message.contains("model.gguf"), message);
            assertTrue(served.error(4).contains("changed while it was served"), "and so is the next");
        }
    }
}
