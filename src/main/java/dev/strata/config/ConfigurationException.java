package dev.strata.config;

/** A flag or variable has a value that cannot be used. The message names it and what is accepted. */
public class ConfigurationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ConfigurationException(String message) {
        super(message);
    }
}
