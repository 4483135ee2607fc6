package dev.strata.chat;

/** Reads one tool call, one character at a time, so that it does not matter how the text was cut. */
interface CallReader {
    /** What a character did. */
    enum Status {
        /** It may still be text that only looks like a call. */
        UNDECIDED,
        /** It is a call; the sink has its name. */
        COMMITTED,
        /** The call ended with this character. */
        DONE,
        /** The call ended before this character, which belongs to what follows. */
        DONE_BEFORE,
        /** It is no call. */
        REJECTED
    }

    /** Receives the call. */
    interface Sink {
        void start(String name);

        void arguments(String fragment);
    }

    Status accept(char unit);

    /** The text ended inside the call: what is known of it is given to the sink. */
    void cut();
}
