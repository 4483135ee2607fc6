package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;

/** Machines for tests. */
final class Grammars {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Grammars() {}

    static JsonNode json(String text) {
        try {
            return MAPPER.readTree(text);
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    static GrammarMachine schema(String schema, GrammarVocabulary vocabulary) {
        GrammarBuilder builder = new GrammarBuilder();
        int start = builder.node();
        builder.end(new SchemaCompiler(builder, new JsonRules(builder), json(schema)).compile(start));
        return new GrammarMachine(builder.build(start), vocabulary);
    }

    /** Whether a text is exactly what the grammar means. */
    static boolean accepts(GrammarMachine machine, String text) {
        return machine.read(machine.start(), text.getBytes(StandardCharsets.UTF_8))
                .isAccepting();
    }
}
