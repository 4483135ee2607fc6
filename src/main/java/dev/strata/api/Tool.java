package dev.strata.api;

/**
 * A function that the model may call.
 *
 * @param json the whole tool object as the client sent it, JSON text, for templates
 * @param parametersSchema JSON schema text of the parameters, {@code {}} when none was given
 */
public record Tool(String name, String description, String parametersSchema, String json) {}
