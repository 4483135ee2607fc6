package dev.strata.chat.template;

/** A template that cannot be parsed, or that failed while rendering. The message names the template and the line. */
public final class TemplateException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Whether the template itself refused its input, by raise_exception. */
    private final boolean raised;

    private final int line;

    TemplateException(String message) {
        this(message, 0, false);
    }

    TemplateException(String message, int line, boolean raised) {
        super(message);
        this.line = line;
        this.raised = raised;
    }

    /** The same error with its place, unless it has one already. */
    TemplateException at(String template, int place) {
        return line > 0
                ? this
                : new TemplateException(template + ", line " + place + ": " + getMessage(), place, raised);
    }

    public boolean raised() {
        return raised;
    }

    /** Line in the template, from 1; 0 when unknown. */
    public int line() {
        return line;
    }
}
