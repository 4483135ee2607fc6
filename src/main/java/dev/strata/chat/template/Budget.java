package dev.strata.chat.template;

/**
 * What one rendering may use up. A template is part of a downloaded file; it must not be able to hang the server or fill its memory. The
 * limits are far above what a conversation of a million tokens needs.
 */
final class Budget {
    static final int LARGEST_TEXT = 1 << 26;
    static final int LARGEST_LIST = 1 << 20;
    private static final long WORK = 30_000_000L;
    private static final int DEEPEST = 120;

    private long work;
    private int depth;

    /** One step of evaluation, or a copy of so many characters. */
    void charge(long units) {
        work += units;
        if (work > WORK) {
            throw new TemplateException("the template does not come to an end (more than " + WORK + " steps)");
        }
    }

    /** A text of that length is about to be made. */
    void text(long length) {
        if (length > LARGEST_TEXT) {
            throw new TemplateException("a text of more than " + LARGEST_TEXT + " characters");
        }
        charge(length / 8);
    }

    /** A list of that size is about to be made. */
    void list(long size) {
        if (size > LARGEST_LIST) {
            throw new TemplateException("a list of more than " + LARGEST_LIST + " elements");
        }
        charge(size);
    }

    void enter() {
        if (++depth > DEEPEST) {
            throw new TemplateException("macros or loops call themselves more than " + DEEPEST + " deep");
        }
    }

    void leave() {
        depth--;
    }
}
