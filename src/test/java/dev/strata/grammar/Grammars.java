package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.tokenizer.Tokenizer;
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

    /** Compares what a mask says of every {@code stride}th token with the definition: the token tried alone. */
    static void check(GrammarMachine machine, GrammarMachine.State state, int first, int stride) {
        Tokenizer tokenizer = machine.vocabulary().tokenizer();
        long[] mask = machine.mask(state);
        for (int token = first; token < tokenizer.vocabularySize(); token += stride) {
            byte[] bytes = tokenizer.bytes(token);
            boolean fits = machine.vocabulary().isEnd(token)
                    ? state.isAccepting()
                    : bytes.length > 0
                            && !tokenizer.isControl(token)
                            && !machine.read(state, bytes).isDead();
            if (fits != ((mask[token >> 6] >>> token & 1) != 0)) {
                throw new AssertionError(
                        (fits ? "forbidden: " : "allowed: ") + new String(bytes, StandardCharsets.UTF_8));
            }
        }
    }

    /** Whether a text is exactly what the grammar means. */
    static boolean accepts(GrammarMachine machine, String text) {
        return machine.read(machine.start(), text.getBytes(StandardCharsets.UTF_8))
                .isAccepting();
    }
}
