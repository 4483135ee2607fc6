package dev.strata.prefill;

/** The expert cache is too small to lend what prompts need. */
public final class PromptRoomException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    public PromptRoomException(String message) {
        super(message);
    }
}
