package dev.strata.engine;

import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.ModelInfo;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.api.ToolChoice;
import dev.strata.config.BackendChoice;
import dev.strata.config.EngineOptions;
import dev.strata.config.SamplingDefaults;
import dev.strata.device.KvFormat;
import dev.strata.model.ModelConfig.Architecture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An engine over a {@link FakeModel}, and requests for it. */
final class EngineFixture implements AutoCloseable {
    final FakeModel model;
    final FakeText text = new FakeText();
    final Engine engine;
    final EngineParts.Settings settings;

    /** What an engine is made of; change what a test is about. */
    static final class Builder {
        int parallel = 1;
        int chunk = 64;
        int queue = 8;
        int pages = 64;
        int context = 2048;
        int checkpoints = 8;
        int every = 2048;
        double decodeShare = 0.5;
        long watchdogNanos;
        boolean drafts;
        boolean alone;
        boolean ahead;
        boolean foresees;

        @Nullable
        SlotFolder slotFolder;

        EngineOptions.Speculation speculation = EngineOptions.Speculation.OFF;
        Architecture architecture = Architecture.QWEN4_EXP;

        EngineFixture start() {
            return new EngineFixture(this);
        }
    }

    private EngineFixture(Builder builder) {
        EngineOptions options = new EngineOptions(
                BackendChoice.REFERENCE,
                1,
                KvFormat.F32,
                builder.context,
                builder.parallel,
                builder.chunk,
                builder.queue,
                builder.checkpoints,
                builder.every,
                0,
                builder.speculation,
                false);
        model = new FakeModel(
                Math.max(builder.chunk, 64),
                builder.pages,
                EngineParts.slots(options, builder.architecture),
                builder.architecture,
                builder.drafts);
        model.ahead = builder.ahead;
        model.foresees = builder.foresees;
        settings = new EngineParts.Settings(
                options, builder.decodeShare, builder.watchdogNanos, builder.alone, builder.slotFolder, () -> null);
        ModelInfo info = new ModelInfo(
                "fake",
                List.of(),
                "fake",
                1,
                builder.context,
                builder.context,
                100,
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
                text,
                info,
                new SamplingDefaults(0, 0, 1, 0, 0, 0, 1, -1),
                settings,
                Map.of("backend", "fake"),
                () -> {},
                model);
        engine.start();
    }

    static int[] tokens(int count, int seed) {
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            tokens[i] = 2 + Math.floorMod((i + 1) * 31 + seed * 17 + i * i * (seed + 3), FakeModel.VOCABULARY - 2);
        }
        return tokens;
    }

    static Prompt prompt(int... tokens) {
        List<Integer> ids = new ArrayList<>();
        for (int token : tokens) {
            ids.add(token);
        }
        return new Prompt.Tokens(ids);
    }

    static Prompt chat(String... rolesAndContents) {
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < rolesAndContents.length; i += 2) {
            messages.add(Message.of(rolesAndContents[i], rolesAndContents[i + 1]));
        }
        return new Prompt.Chat(messages, List.of(), new ToolChoice.None(), true, Map.of());
    }

    static GenerateRequest request(Prompt prompt, @Nullable Integer maxTokens) {
        return request(prompt, maxTokens, 1, SamplingOptions.DEFAULTS, List.of());
    }

    static GenerateRequest request(
            Prompt prompt, @Nullable Integer maxTokens, int choices, SamplingOptions sampling, List<String> stop) {
        return new GenerateRequest(
                prompt, sampling, new OutputFormat.Text(), maxTokens, stop, -1, choices, false, false, false, null);
    }

    static GenerateRequest withTimeout(GenerateRequest r, Duration timeout) {
        return new GenerateRequest(
                r.prompt(),
                r.sampling(),
                r.format(),
                r.maxTokens(),
                r.stop(),
                r.topLogprobs(),
                r.choices(),
                r.ignoreEndToken(),
                r.progress(),
                r.echo(),
                timeout);
    }

    static GenerateRequest withEcho(GenerateRequest r, int topLogprobs, boolean progress) {
        return new GenerateRequest(
                r.prompt(),
                r.sampling(),
                r.format(),
                r.maxTokens(),
                r.stop(),
                topLogprobs,
                r.choices(),
                r.ignoreEndToken(),
                progress,
                true,
                r.timeout());
    }

    static SamplingOptions seeded(float temperature, long seed) {
        return new SamplingOptions(temperature, null, null, null, null, null, null, null, seed, Map.of());
    }

    /** Hands a request over and does not wait for its answers. */
    Collector begin(GenerateRequest request) {
        Collector collector = new Collector(request.choices());
        engine.generate(request, collector);
        return collector;
    }

    Collector run(GenerateRequest request) {
        return begin(request).awaitEnd();
    }

    static String expected(int[] prompt, int count) {
        return new FakeText().detokenize(FakeModel.continuation(prompt, count));
    }

    SequenceStore store() {
        return engine.parts().store();
    }

    @Override
    public void close() {
        engine.close();
    }
}
