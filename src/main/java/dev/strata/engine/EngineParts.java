package dev.strata.engine;

import dev.strata.config.EngineOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.decode.ExpertTotals;
import dev.strata.model.Model;
import dev.strata.model.ModelConfig.Architecture;
import dev.strata.os.DiskActivity;
import dev.strata.sampling.SamplerScratch;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The objects of a running engine, put together. */
final class EngineParts implements AutoCloseable {
    /** With more sequences than these decoding at once, nothing is drafted. */
    private static final int MOST_DRAFTING = 4;
    /** Rows of logits for prompts whose log probabilities are asked for. */
    private static final int ECHO_ROWS = 64;

    /**
     * How to run.
     *
     * @param decodeShare see {@link Variable#BATCH_DECODE_SHARE}
     * @param watchdogNanos see {@link Variable#WATCHDOG_S}
     * @param alone every pass takes one sequence, without drafts and from its first token on, so that its results depend on nothing else
     * @param slotFolder null: cached texts cannot be saved
     * @param experts what decode has used of the expert cache; gives null where there is none
     */
    record Settings(
            EngineOptions options,
            double decodeShare,
            long watchdogNanos,
            boolean alone,
            @Nullable SlotFolder slotFolder,
            Supplier<@Nullable ExpertTotals> experts) {
        static Settings of(
                EngineOptions options,
                Variables variables,
                boolean alone,
                @Nullable SlotFolder slotFolder,
                Supplier<@Nullable ExpertTotals> experts) {
            return new Settings(
                    options,
                    variables.real(Variable.BATCH_DECODE_SHARE).orElse(0.5),
                    variables.whole(Variable.WATCHDOG_S).orElse(300) * 1_000_000_000L,
                    alone,
                    slotFolder,
                    experts);
        }
    }

    private final EngineOptions options;
    private final SamplerScratch scratch;
    private final EngineCounters counters;
    private final Delivery delivery;
    private final Passes passes;
    private final SequenceStore store;
    private final StepLoop loop;
    private final Watchdog watchdog;
    private final @Nullable SlotFiles slotFiles;
    private final PromptNotices notices;

    private EngineParts(
            EngineOptions options,
            SamplerScratch scratch,
            EngineCounters counters,
            Delivery delivery,
            Passes passes,
            SequenceStore store,
            StepLoop loop,
            Watchdog watchdog,
            @Nullable SlotFiles slotFiles,
            PromptNotices notices) {
        this.slotFiles = slotFiles;
        this.notices = notices;
        this.options = options;
        this.scratch = scratch;
        this.counters = counters;
        this.delivery = delivery;
        this.passes = passes;
        this.store = store;
        this.loop = loop;
        this.watchdog = watchdog;
    }

    static EngineParts create(
            Model model, TextSide text, Settings settings, Consumer<String> onDeath, Consumer<String> onStuck) {
        EngineOptions options = settings.options();
        boolean recurrent = isRecurrent(model.config().architecture());
        int chunk = Math.min(options.chunk(), model.maxRows());
        boolean alone = settings.alone();
        EngineOptions.Speculation speculation = alone ? EngineOptions.Speculation.OFF : options.speculation();
        int window = Math.max(1, speculation.window());
        int logitRows =
                Math.min(model.maxRows(), Math.max(ECHO_ROWS, Math.max(options.parallel(), window * MOST_DRAFTING)));
        SamplerScratch scratch = new SamplerScratch(model.config().vocabulary());
        EngineCounters counters = new EngineCounters();
        Delivery delivery = new Delivery();
        Passes passes = new Passes(model, logitRows);
        SequenceStore store = new SequenceStore(model, recurrent, checkpoints(model, options), options.parallel());
        Outcomes outcomes =
                new Outcomes(text, delivery, model.meanwhile(delivery::flush), counters, settings.experts());
        Drafting drafting = new Drafting(model, passes, speculation, MOST_DRAFTING);
        Stops stops = new Stops(recurrent, options.checkpointEvery(), chunk);
        Reading reading = new Reading(passes, store, outcomes, drafting, counters, scratch, text, stops, chunk, alone);
        Decoding decoding = new Decoding(model, passes, outcomes, drafting, counters, alone);
        StepLoop loop = new StepLoop(
                model,
                passes,
                store,
                reading,
                decoding,
                outcomes,
                new Balance(settings.decodeShare()),
                counters,
                text,
                options.parallel(),
                chunk,
                window,
                !alone,
                broken -> onDeath.accept(broken.toString()));
        Watchdog watchdog = new Watchdog(
                loop,
                settings.watchdogNanos(),
                DiskActivity::figure,
                () -> onStuck.accept("one step took more than " + settings.watchdogNanos() / 1_000_000_000 + " s"));
        SlotFolder folder = settings.slotFolder();
        SlotFiles slotFiles = folder == null ? null : new SlotFiles(folder, model, loop, store);
        return new EngineParts(
                options,
                scratch,
                counters,
                delivery,
                passes,
                store,
                loop,
                watchdog,
                slotFiles,
                new PromptNotices(model, chunk));
    }

    /** Whether states of a text are more than its keys and values. */
    static boolean isRecurrent(Architecture architecture) {
        return architecture != Architecture.QWEN3_MOE;
    }

    /** Most recurrent states that the model has room to keep beside those of running sequences. */
    static int checkpoints(Model model, EngineOptions options) {
        return Math.min(options.checkpoints(), Math.max(0, model.slots() - options.parallel() - 1));
    }

    /** State slots that a model needs: for the sequences, the checkpoints and one embedding. */
    static int slots(EngineOptions options, Architecture architecture) {
        return options.parallel() + 1 + (isRecurrent(architecture) ? options.checkpoints() : 0);
    }

    void start() {
        loop.start();
        watchdog.start();
    }

    StepLoop loop() {
        return loop;
    }

    Delivery delivery() {
        return delivery;
    }

    SamplerScratch scratch() {
        return scratch;
    }

    /** Null when cached texts cannot be saved. */
    @Nullable
    SlotFiles slotFiles() {
        return slotFiles;
    }

    PromptNotices notices() {
        return notices;
    }

    EngineCounters counters() {
        return counters;
    }

    SequenceStore store() {
        return store;
    }

    int parallel() {
        return options.parallel();
    }

    int queueLimit() {
        return options.queueLimit();
    }

    /** Roughly right while the step loop runs. */
    Map<String, Object> cacheFigures() {
        Map<String, Object> figures = new LinkedHashMap<>();
        figures.put("pages", store.pages().total());
        figures.put("pages_free", store.pages().free());
        figures.put("pages_cached", store.tree().nodes());
        figures.put("checkpoints", store.tree().checkpoints());
        return figures;
    }

    @Override
    public void close() {
        watchdog.close();
        try {
            loop.stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        passes.close();
    }
}
