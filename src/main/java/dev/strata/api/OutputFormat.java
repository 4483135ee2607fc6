package dev.strata.api;

/** What the answer has to look like. */
public sealed interface OutputFormat {
    record Text() implements OutputFormat {}

    /** Any JSON object. */
    record JsonObject() implements OutputFormat {}

    /** JSON that satisfies a schema (JSON text). */
    record JsonSchema(String name, String schema) implements OutputFormat {}

    /** A GBNF grammar. */
    record Grammar(String gbnf) implements OutputFormat {}
}
