package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.ExpertLayer;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.ExpertSource;
import dev.strata.device.Tensor;
import dev.strata.device.Weight;
import dev.strata.expert.MappedExpertSource;
import dev.strata.format.ModelFiles;
import dev.strata.model.ngram.NgramTable;
import java.lang.foreign.Arena;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Puts a model on a backend. */
public final class ModelLoader {
    private ModelLoader() {}

    /**
     * Loads a model with experts and n-gram table read in place in its mapped files. The files have to stay open as long as the model,
     * and so does the backend.
     *
     * @throws dev.strata.format.ModelFormatException naming file and key or tensor
     */
    public static Model load(ModelFiles files, Backend backend, ModelOptions options) {
        Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
        ExpertSource source = new MappedExpertSource(ExpertTensors.find(files, sizes));
        NgramTable table = sizes.ngram() == null ? null : NgramTables.open(files, sizes.ngram());
        return load(files, backend, options, source, table);
    }

    /**
     * Loads a model with experts from {@code source}, which it then owns.
     *
     * @param source numbered like the model's layers, draft layers last
     * @param table the n-gram table of models that have one, closed with the model
     */
    public static Model load(
            ModelFiles files, Backend backend, ModelOptions options, ExpertSource source, @Nullable NgramTable table) {
        return load(files, backend, options, layer -> backend.experts(source, layer), source::close, table);
    }

    /**
     * Loads a model whose experts lie where {@code placement} keeps them; it stays its maker's.
     *
     * @param placement numbered like the model's layers, draft layers last
     * @param table the n-gram table of models that have one, closed with the model
     */
    public static Model load(
            ModelFiles files,
            Backend backend,
            ModelOptions options,
            ExpertPlacement placement,
            @Nullable NgramTable table) {
        return load(files, backend, options, layer -> backend.experts(placement, layer), () -> {}, table);
    }

    @SuppressWarnings("MustBeClosedChecker") // owned by the model, closed with it
    private static Model load(
            ModelFiles files,
            Backend backend,
            ModelOptions options,
            IntFunction<ExpertLayer> experts,
            Runnable closer,
            @Nullable NgramTable table) {
        Arena arena = Arena.ofShared();
        Runnable both = () -> {
            closer.run();
            if (table != null) {
                table.close();
            }
        };
        try {
            return build(
                    new Weights(files, ModelConfigReader.read(files), arena), backend, options, experts, both, table);
        } catch (RuntimeException exception) {
            arena.close();
            throw exception;
        }
    }

    private static Model build(
            Weights weights,
            Backend backend,
            ModelOptions options,
            IntFunction<ExpertLayer> experts,
            Runnable closer,
            @Nullable NgramTable table) {
        ModelFiles files = weights.files();
        Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
        ModelConfig config = sizes.config();
        Workspace workspace = new Workspace(backend, options.maxRows());
        LayerFactory factory = new LayerFactory(workspace, weights, sizes, options, experts);
        int hidden = config.hidden();
        Weight embedding = backend.weight(weights.matrix(Role.EMBEDDING, 0, config.vocabulary(), hidden));
        Weight output = weights.has(Role.HEAD, 0)
                ? backend.weight(weights.matrix(Role.HEAD, 0, config.vocabulary(), hidden))
                : embedding;
        OutputHead head = new OutputHead(workspace, output);
        boolean drafts = options.draftLayer() && config.draftLayers() > 0;
        Hyperparameters.Hyper hyper = sizes.hyper();
        int columns = hyper == null ? hidden : hyper.streams() * hidden;
        Tensor trunkState = workspace.tensor("states", columns);
        Trunk trunk = hyper == null
                ? new PlainTrunk(factory, embedding, trunkState)
                : new WideTrunk(factory, hyper, embedding, ngram(factory, hyper, table), trunkState);
        if (!drafts) {
            return new LoadedModel(files, factory, closer, trunk, head, null);
        }
        DraftLayer draft =
                hyper == null ? new PlainDraft(factory, embedding) : new WideDraft(factory, hyper, embedding);
        return new LoadedModel(
                files,
                factory,
                closer,
                trunk,
                head,
                new Drafts(workspace, draft, draftHead(factory, head), trunkState));
    }

    private static @Nullable NgramBlock ngram(
            LayerFactory factory, Hyperparameters.Hyper hyper, @Nullable NgramTable table) {
        Hyperparameters.Ngram ngram = factory.sizes().ngram();
        if (ngram == null || table == null) {
            return null;
        }
        return NgramBlock.create(
                factory.workspace(), factory.weights(), factory.sizes(), hyper, ngram, table, factory.options());
    }

    /** The draft layer's own head where the files have one, else the trunk's. */
    private static OutputHead draftHead(LayerFactory factory, OutputHead shared) {
        ModelConfig config = factory.sizes().config();
        if (!factory.weights().has(Role.DRAFT_HEAD, config.layers())) {
            return shared;
        }
        Workspace workspace = factory.workspace();
        return new OutputHead(
                workspace,
                workspace
                        .backend()
                        .weight(factory.weights()
                                .matrix(Role.DRAFT_HEAD, config.layers(), config.vocabulary(), config.hidden())));
    }
}
