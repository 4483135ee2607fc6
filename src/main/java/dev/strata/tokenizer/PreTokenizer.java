package dev.strata.tokenizer;

/** Cuts a text into the pieces inside which byte pairs are merged. Every character belongs to exactly one piece. */
interface PreTokenizer {
    /** Receives pieces in order. */
    @FunctionalInterface
    interface Pieces {
        void piece(char[] text, int from, int to);
    }

    /** Cuts {@code text[from, to)}; the text is taken to begin and end there. */
    void split(char[] text, int from, int to, Pieces pieces);
}
