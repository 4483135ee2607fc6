package dev.strata.engine;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.decode.ExpertTotals;
import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.format.ModelFiles;
import dev.strata.model.Hyperparameters;
import dev.strata.model.Model;
import dev.strata.model.ModelConfig;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.ModelOptions;
import dev.strata.model.NgramTables;
import dev.strata.model.ngram.NgramTable;
import dev.strata.synth.ModelSource;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A model on a backend with the files it is read from, closed together. */
public final class ModelSession implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ModelSession.class);

    private final ModelFiles files;
    private final Backend backend;
    private final Model model;
    private final ExpertHome home;
    private ExpertTotals told = ExpertTotals.NONE;
    private final @Nullable NgramTable table;
    private final int context;
    private final int chunk;

    private ModelSession(
            ModelFiles files,
            Backend backend,
            Model model,
            ExpertHome home,
            @Nullable NgramTable table,
            int context,
            int chunk) {
        this.files = files;
        this.backend = backend;
        this.model = model;
        this.home = home;
        this.table = table;
        this.context = context;
        this.chunk = chunk;
    }

    /**
     * Opens the files and loads the model with room for what the options ask for.
     *
     * @throws dev.strata.format.ModelFormatException naming file and key or tensor
     */
    public static ModelSession open(Options options) {
        options.tiers().notice().ifPresent(LOG::warn);
        ModelFiles files = ModelSource.open(options.model());
        try {
            ModelConfig config = ModelConfigReader.read(files);
            int context = context(options.engine(), config);
            Backend backend = Backends.create(options);
            try {
                SelfTest.once(files, backend);
                EngineOptions engine =
                        options.engine().withChunk(TierSettings.chunk(options, Backends.device(backend)));
                NgramTable table = ngramTable(files, options);
                ExpertHome.Loaded loaded = ExpertHome.load(
                        files,
                        backend,
                        options,
                        room(engine, config, context).withHiddenNorm(TierSettings.hiddenNorm(options)),
                        table);
                return new ModelSession(
                        files,
                        backend,
                        loaded.model(),
                        loaded.home(),
                        loaded.table(),
                        context,
                        loaded.chunk() > 0 ? loaded.chunk() : engine.chunk());
            } catch (RuntimeException | Error e) {
                backend.close();
                throw e;
            }
        } catch (RuntimeException | Error e) {
            files.close();
            throw e;
        }
    }

    /** Opens the model's n-gram table; null for models without one. */
    static @Nullable NgramTable ngramTable(ModelFiles files, Options options) {
        Hyperparameters.Ngram shape = ModelConfigReader.hyperparameters(files).ngram();
        return shape == null ? null : NgramTables.open(files, shape, TierSettings.ngram(options));
    }

    private static int context(EngineOptions options, ModelConfig config) {
        return options.maxContext() > 0
                ? options.maxContext()
                : Math.min(config.trainedContext(), EngineOptions.AUTO_CONTEXT);
    }

    /** Every sequence may fill its context; cached texts get pages of their own. */
    static ModelOptions room(EngineOptions options, ModelConfig config, int context) {
        int cached = options.cacheTokens() < 0 ? context : options.cacheTokens();
        int pages = options.parallel() * (pages(context) + 1) + pages(cached) + 1;
        int rows = Math.max(options.chunk(), options.parallel() * Batch.MAX_WINDOW);
        return new ModelOptions(
                rows,
                pages,
                EngineParts.slots(options, config.architecture()),
                options.kv(),
                options.speculation().wantsLayer());
    }

    private static int pages(int tokens) {
        return (tokens + Batch.PAGE - 1) / Batch.PAGE;
    }

    public ModelFiles files() {
        return files;
    }

    public Backend backend() {
        return backend;
    }

    public Model model() {
        return model;
    }

    /** Prompt tokens read in one pass. */
    public int chunk() {
        return chunk;
    }

    /** Where the experts are, for status and measurements. */
    ExpertHome home() {
        return home;
    }

    /** What steps found where and what was read from files since the last call, for people; empty where all experts are in one place. */
    public String expertUse() {
        ExpertTotals now = home.totals();
        if (now == null) {
            return "";
        }
        ExpertTotals before = told;
        told = now;
        return now.since(before).line();
    }

    /** How the rows of the n-gram table were read so far; empty without one. */
    Map<String, Object> ngramFigures() {
        return table == null ? Map.of() : table.figures();
    }

    /** Tokens that one sequence may have. */
    public int context() {
        return context;
    }

    @Override
    public void close() {
        model.close();
        home.close();
        backend.close();
        files.close();
    }
}
