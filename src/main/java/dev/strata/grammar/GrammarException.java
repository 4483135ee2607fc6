package dev.strata.grammar;

/** A schema or grammar that cannot be followed. The message names the keyword, or the place in the grammar. */
public final class GrammarException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public GrammarException(String message) {
        super(message);
    }
}
