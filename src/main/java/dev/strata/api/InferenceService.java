package dev.strata.api;

import java.util.List;
import java.util.Map;

/** The engine as the server sees it. All methods may be called from any thread. */
public interface InferenceService {
    /** Life of the engine. */
    enum State {
        LOADING,
        READY,
        STOPPING,
        DEAD
    }

    /** Never blocks, like {@link #stateReason}: /health asks both on an event loop. */
    State state();

    /** Why the state is what it is; empty when READY. */
    String stateReason();

    ModelInfo model();

    /**
     * Renders, tokenizes, checks and queues the request. Deltas arrive on {@code listener} until Finished for every choice, or Failed.
     *
     * @throws ApiException when the request is not accepted; nothing is delivered then
     */
    Generation generate(GenerateRequest request, DeltaListener listener);

    /** The text that the template gives for a conversation. */
    String render(Prompt.Chat chat);

    /** Token ids; with {@code special}, control tokens in the text are recognised. */
    List<Integer> tokenize(String text, boolean special);

    String detokenize(List<Integer> ids);

    /** Token count of a prompt as {@link #generate} would read it. */
    int countTokens(Prompt prompt);

    /** One vector per input: mean or last pooling of the final hidden state, normalised to length 1. */
    List<float[]> embed(List<Prompt> inputs, boolean meanPooling);

    /** Facts for status pages: nested maps of plain values (engine, memory plan, backend, queue, counters). */
    Map<String, Object> status();

    /**
     * Writes the cached prefix of a slot to a file of the slot folder.
     *
     * @param fileName plain name, no path
     * @return tokens written
     * @throws ApiException also when no slot folder was configured
     */
    default int saveSlot(int slot, String fileName) {
        throw noSlotFolder();
    }

    /** Reads what {@link #saveSlot} wrote back into the prefix cache; returns the tokens read. */
    default int restoreSlot(int slot, String fileName) {
        throw noSlotFolder();
    }

    private static ApiException noSlotFolder() {
        return new ApiException(new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                "slot_files_off",
                "Saving and restoring slots is off: start with --slot-save-path FOLDER",
                "action"));
    }

    /** Requests running and waiting now. */
    int running();

    int waiting();
}
