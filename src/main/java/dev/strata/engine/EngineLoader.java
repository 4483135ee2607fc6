package dev.strata.engine;

import dev.strata.api.ModelInfo;
import dev.strata.chat.ChatRenderer;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.SamplingDefaults;
import dev.strata.model.ModelConfig;
import dev.strata.model.ModelConfigReader;
import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerLoader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes a running engine out of model files. */
public final class EngineLoader {
    private static final Logger LOG = LoggerFactory.getLogger(EngineLoader.class);

    private EngineLoader() {}

    /**
     * Loads the model and starts the engine's threads.
     *
     * @param onStuck called when a step has hung and the process should end
     * @throws dev.strata.format.ModelFormatException naming file and key or tensor
     */
    public static Engine load(Options asked, Runnable onStuck) {
        long start = System.nanoTime();
        Options options = CacheBudget.apply(asked);
        ModelSession session = ModelSession.open(options);
        try {
            Tokenizer tokenizer = TokenizerLoader.load(session.files());
            ChatRenderer renderer = ChatRenderer.load(session.files(), tokenizer);
            ModelConfig config = session.model().config();
            Set<Integer> ends = new TreeSet<>(tokenizer.specialTokens().end());
            ends.addAll(config.endTokens());
            boolean alone =
                    options.engine().deterministic() && !session.backend().batchInvariant();
            if (alone) {
                LOG.info(
                        "deterministic: on the {} backend every pass takes one sequence, without drafts and cached texts",
                        session.backend().name());
            }
            Map<String, Object> facts = facts(options, session);
            Engine engine = new Engine(
                    session.model(),
                    new ModelText(tokenizer, renderer, ends),
                    info(options, session, tokenizer, renderer),
                    SamplingDefaults.read(session.files()),
                    EngineParts.Settings.of(
                            options.engine().withChunk(session.chunk()),
                            options.variables(),
                            alone,
                            slotFolder(options, session),
                            () -> session.home().totals()),
                    facts,
                    onStuck,
                    session);
            engine.start();
            LOG.info(
                    "{}: {} with {} parameters, context {}, on {}, processor kernels for {}, loaded in {} ms",
                    engine.model().id(),
                    config.architecture().modelType(),
                    config.parameters(),
                    session.context(),
                    session.backend().description(),
                    facts.get("cpu_isa"),
                    (System.nanoTime() - start) / 1_000_000);
            return engine;
        } catch (RuntimeException | Error e) {
            session.close();
            throw e;
        }
    }

    private static ModelInfo info(Options options, ModelSession session, Tokenizer tokenizer, ChatRenderer renderer) {
        ModelConfig config = session.model().config();
        List<String> names = options.aliases();
        String id = names.isEmpty() ? name(config, session) : names.getFirst();
        return new ModelInfo(
                id,
                names.size() > 1 ? List.copyOf(names.subList(1, names.size())) : List.of(),
                config.architecture().modelType(),
                config.parameters(),
                session.context(),
                config.trainedContext(),
                config.vocabulary(),
                config.hidden(),
                created(session),
                renderer.supportsReasoning(),
                renderer.supportsTools(),
                renderer.template(),
                text(tokenizer, tokenizer.specialTokens().begin().orElse(-1)),
                config.endTokens().isEmpty()
                        ? ""
                        : text(tokenizer, config.endTokens().getFirst()),
                tokenizer.specialTokens().fillInTheMiddle().isPresent());
    }

    private static String text(Tokenizer tokenizer, int id) {
        return id < 0 ? "" : tokenizer.decode(id);
    }

    private static String name(ModelConfig config, ModelSession session) {
        if (!config.name().isBlank()) {
            return config.name();
        }
        return session.files().path().getFileName().toString().replaceFirst("\\.gguf$", "");
    }

    private static long created(ModelSession session) {
        try {
            return Files.getLastModifiedTime(session.files().files().getFirst()).toMillis() / 1000;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static @Nullable SlotFolder slotFolder(Options options, ModelSession session) {
        Path folder = options.slotFolder();
        if (folder == null) {
            return null;
        }
        String maker = String.format(
                Locale.ROOT,
                "%s (%s) on %s with %s keys and values%s",
                name(session.model().config(), session),
                session.model().config().architecture().modelType(),
                session.backend().name(),
                options.engine().kv().name().toLowerCase(Locale.ROOT),
                session.model().canDraft() ? " and a draft layer" : "");
        return new SlotFolder(folder, maker, new Supplier<>() {
            private byte[] known = new byte[0];

            @Override
            public synchronized byte[] get() {
                if (known.length == 0) {
                    known = ModelFingerprint.of(session.files(), maker);
                }
                return known;
            }
        });
    }

    private static Map<String, Object> facts(Options options, ModelSession session) {
        EngineOptions engine = options.engine();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("backend", session.backend().name());
        facts.put("backend_description", session.backend().description());
        facts.put("kv_format", engine.kv().name().toLowerCase(Locale.ROOT));
        facts.put("kv_pages", session.model().pages());
        facts.put("state_slots", session.model().slots());
        facts.put("chunk", session.chunk());
        facts.put("speculation_window", engine.speculation().window());
        facts.put("draft_layer", session.model().canDraft());
        facts.put("suffix_draft", engine.speculation().lookupLength());
        facts.put("deterministic", engine.deterministic());
        facts.put("cpu_isa", Backends.instructionSet(session.backend(), options.variables()));
        StateMemory states = StateMemory.of(session.model(), engine, session.context());
        LOG.info("{}", states.line(engine.parallel()));
        MonitorFigures monitor =
                new MonitorFigures(session, ModelConfigReader.hyperparameters(session.files()), states);
        facts.put("experts", (LiveFigures) counters -> session.home().figures());
        facts.put("tiers", (LiveFigures) monitor::tiers);
        facts.put("memory", (LiveFigures) counters -> monitor.memory());
        if (!session.ngramFigures().isEmpty()) {
            facts.put("ngram", (LiveFigures) counters -> session.ngramFigures());
        }
        return facts;
    }
}
