package dev.strata.format;

/** A model file is not what it should be. The message names the file, the tensor or key, the offset where there is one, and what to do. */
public class ModelFormatException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ModelFormatException(String message) {
        super(message);
    }

    public ModelFormatException(String message, Throwable cause) {
        super(message, cause);
    }
}
