package dev.strata.engine;

import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.api.InferenceService;
import dev.strata.api.ModelInfo;
import dev.strata.api.Prompt;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Stands in for an engine while its model is loaded, so that the server can say so; hands everything on afterwards. */
public final class LoadingEngine implements InferenceService, AutoCloseable {
    private static final ModelInfo UNKNOWN =
            new ModelInfo("", List.of(), "", 0, 0, 0, 0, 0, 0, false, false, "", "", "", false);

    private static final String REASON = "the model is being loaded";

    private volatile @Nullable Engine engine;

    /** The model is loaded. */
    public void ready(Engine loaded) {
        engine = loaded;
    }

    private Engine require() {
        Engine loaded = engine;
        if (loaded == null) {
            throw Errors.unavailable(REASON);
        }
        return loaded;
    }

    @Override
    public State state() {
        Engine loaded = engine;
        return loaded == null ? State.LOADING : loaded.state();
    }

    @Override
    public String stateReason() {
        Engine loaded = engine;
        return loaded == null ? REASON : loaded.stateReason();
    }

    @Override
    public ModelInfo model() {
        Engine loaded = engine;
        return loaded == null ? UNKNOWN : loaded.model();
    }

    @Override
    public Generation generate(GenerateRequest request, DeltaListener listener) {
        return require().generate(request, listener);
    }

    @Override
    public String render(Prompt.Chat chat) {
        return require().render(chat);
    }

    @Override
    public List<Integer> tokenize(String text, boolean special) {
        return require().tokenize(text, special);
    }

    @Override
    public String detokenize(List<Integer> ids) {
        return require().detokenize(ids);
    }

    @Override
    public int countTokens(Prompt prompt) {
        return require().countTokens(prompt);
    }

    @Override
    public List<float[]> embed(List<Prompt> inputs, boolean meanPooling) {
        return require().embed(inputs, meanPooling);
    }

    @Override
    public int saveSlot(int slot, String fileName) {
        return require().saveSlot(slot, fileName);
    }

    @Override
    public int restoreSlot(int slot, String fileName) {
        return require().restoreSlot(slot, fileName);
    }

    @Override
    public Map<String, Object> status() {
        Engine loaded = engine;
        return loaded == null ? Map.of("state", State.LOADING.name(), "reason", REASON) : loaded.status();
    }

    @Override
    public int running() {
        Engine loaded = engine;
        return loaded == null ? 0 : loaded.running();
    }

    @Override
    public int waiting() {
        Engine loaded = engine;
        return loaded == null ? 0 : loaded.waiting();
    }

    @Override
    public void close() {
        Engine loaded = engine;
        if (loaded != null) {
            loaded.close();
        }
    }
}
