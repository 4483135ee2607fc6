package dev.strata.grammar;

import static dev.strata.ErrorMessages.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class SchemaCompilerTest {
    private static final Tokenizer TOKENIZER = TokenizerFixtures.strataTiny();
    static final GrammarVocabulary VOCABULARY = GrammarVocabulary.of(TOKENIZER);

    static List<String> schemas() {
        return List.of(
                "true",
                "{}",
                "{\"type\":\"object\"}",
                "{\"type\":\"string\"}",
                "{\"type\":[\"integer\",\"null\"]}",
                "{\"type\":\"number\"}",
                "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"ok\":{\"type\":\"boolean\"}},\"required\":[\"name\",\"age\"],\"additionalProperties\":false}",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"ab\":{\"type\":\"integer\"},\"é\\\"\":{\"type\":\"null\"}},\"additionalProperties\":{\"type\":\"integer\"}}",
                "{\"type\":\"object\",\"additionalProperties\":{\"enum\":[1,\"x\"]}}",
                "{\"enum\":[\"red\",\"green\",3,null,true,{\"a\":[1,2]},\"é\\n\\\"\"]}",
                "{\"const\":{\"k\":\"v\"}}",
                "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2,\"maxItems\":4}",
                "{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":3}",
                "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\",\"maxLength\":3}],\"items\":false}",
                "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"integer\"},\"maxItems\":3}",
                "{\"type\":\"string\",\"minLength\":3,\"maxLength\":6}",
                "{\"type\":\"string\",\"minLength\":5}",
                "{\"type\":\"string\",\"pattern\":\"^[A-Z]{2}-\\\\d{3,5}$\"}",
                "{\"type\":\"string\",\"pattern\":\"^(foo|ba[rz]+)\\\\s?\\\\w*$\",\"maxLength\":9}",
                "{\"type\":\"string\",\"pattern\":\"x.y\",\"maxLength\":12}",
                "{\"type\":\"string\",\"pattern\":\"^[^\\\"a-z]+$\",\"maxLength\":8}",
                "{\"type\":\"string\",\"pattern\":\"^\\\\p{Lu}\\\\p{Ll}*$\",\"maxLength\":8}",
                "{\"type\":\"integer\",\"minimum\":-17,\"maximum\":203}",
                "{\"type\":\"integer\",\"exclusiveMinimum\":5,\"exclusiveMaximum\":1000}",
                "{\"type\":\"integer\",\"minimum\":1}",
                "{\"type\":\"integer\",\"maximum\":-3}",
                "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}",
                "{\"type\":\"number\",\"exclusiveMinimum\":-2.75,\"maximum\":13.5}",
                "{\"type\":\"number\",\"minimum\":1.25,\"exclusiveMaximum\":1.3}",
                "{\"type\":\"number\",\"exclusiveMinimum\":0}",
                "{\"type\":\"number\",\"maximum\":-0.5}",
                "{\"anyOf\":[{\"type\":\"string\",\"maxLength\":2},{\"type\":\"integer\"}]}",
                "{\"type\":\"object\",\"properties\":{\"kind\":{\"type\":\"string\"}},\"required\":[\"kind\"],\"oneOf\":[{\"properties\":{\"kind\":{\"const\":\"a\"},\"x\":{\"type\":\"integer\"}},\"required\":[\"x\"]},{\"properties\":{\"kind\":{\"const\":\"b\"}}}]}",
                "{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":3}},\"required\":[\"a\"]},{\"properties\":{\"a\":{\"maximum\":9},\"b\":{\"type\":\"null\"}},\"required\":[\"b\"]}]}",
                "{\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"kids\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/tree\"}}},\"required\":[\"v\"],\"additionalProperties\":false}},\"$ref\":\"#/$defs/tree\"}",
                "{\"type\":\"object\",\"properties\":{\"p\":{\"$ref\":\"#/$defs/s\",\"description\":\"d\"}},\"$defs\":{\"s\":{\"type\":\"string\",\"maxLength\":4}},\"required\":[\"p\"]}",
                "{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":\"#\",\"description\":\"d\"}},\"required\":[\"v\"]}",
                "{\"anyOf\":[{\"const\":1.5},{\"const\":\"x\",\"type\":\"string\"},{\"$ref\":\"#/$defs/endless\"}],\"$defs\":{\"endless\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/endless\"},\"minItems\":1}}}",
                "{\"type\":\"object\",\"properties\":{\"no\":false,\"n\":{\"type\":\"null\"}},\"additionalProperties\":{\"type\":\"string\",\"maxLength\":2}}",
                "{\"type\":\"string\",\"pattern\":\"^[^@\\\\s]+@[\\\\w.-]{1,5}$\",\"maxLength\":20}",
                "{\"type\":\"string\",\"nullable\":true,\"maxLength\":2}",
                "{\"type\":\"string\",\"format\":\"date\"}",
                "{\"type\":\"string\",\"format\":\"date-time\"}",
                "{\"type\":\"string\",\"format\":\"uuid\"}",
                "{\"type\":\"string\",\"format\":\"ipv4\"}");
    }

    /** Whatever is drawn under the masks satisfies the schema. */
    @ParameterizedTest
    @MethodSource("schemas")
    void everyTextUnderTheMasksIsValid(String schema) {
        GrammarMachine machine = Grammars.schema(schema, VOCABULARY);
        SchemaValidator validator = new SchemaValidator(Grammars.json(schema));
        Random random = new Random(schema.hashCode());
        for (int round = 0; round < 15; round++) {
            String text = generate(machine, random);
            JsonNode value = Grammars.json(text);
            assertTrue(validator.isValid(value), () -> schema + " does not allow " + text);
        }
    }

    /** Masks made the short way are those of the definition: every token tried alone. */
    @ParameterizedTest
    @MethodSource("schemas")
    void masksAreExact(String schema) {
        GrammarMachine machine = Grammars.schema(schema, VOCABULARY);
        Random random = new Random(5);
        GrammarConstraint constraint = new GrammarConstraint(machine);
        GrammarMachine.State state = machine.start();
        for (int step = 0; step < 15 && !constraint.finished(); step++) {
            long[] mask = constraint.allowed();
            Grammars.check(machine, state, 0, 1);
            int token = draw(mask, random, step);
            if (TOKENIZER.specialTokens().end().contains(token)) {
                break;
            }
            constraint.accept(token);
            state = machine.read(state, TOKENIZER.bytes(token));
        }
    }

    /** Writes at random under the masks, at most {@code most} tokens; there is always one that may follow. */
    static int write(GrammarMachine machine, Random random, int most) {
        GrammarConstraint constraint = new GrammarConstraint(machine);
        int written = 0;
        while (!constraint.finished() && written < most) {
            constraint.accept(draw(constraint.allowed(), random, written++));
        }
        return written;
    }

    @Test
    void bentSchemasAreCompiledOrRefused() throws IOException {
        int[] counts = SchemaFuzz.run(2, new Random(12));
        assertTrue(counts[0] > 0 && counts[1] > 0, counts[0] + " compiled, " + counts[1] + " refused");
    }

    private static String generate(GrammarMachine machine, Random random) {
        GrammarConstraint constraint = new GrammarConstraint(machine);
        List<Integer> tokens = new ArrayList<>();
        while (!constraint.finished()) {
            int token = draw(constraint.allowed(), random, tokens.size());
            constraint.accept(token);
            if (!TOKENIZER.specialTokens().end().contains(token)) {
                tokens.add(token);
            }
            assertTrue(tokens.size() < 5000, "the text does not end");
        }
        return TOKENIZER.decode(tokens.stream().mapToInt(id -> id).toArray());
    }

    /** Any allowed token at first, later such as come to an end. */
    private static int draw(long[] mask, Random random, int length) {
        List<Integer> allowed = new ArrayList<>();
        List<Integer> closing = new ArrayList<>();
        for (int token = 0; token < mask.length * 64; token++) {
            if ((mask[token >> 6] >>> token & 1) != 0) {
                allowed.add(token);
                byte[] bytes = TOKENIZER.bytes(token);
                if (TOKENIZER.specialTokens().end().contains(token) || "\"]}".indexOf(bytes[0]) >= 0) {
                    closing.add(token);
                }
            }
        }
        boolean close = !closing.isEmpty() && random.nextInt(100) < 10 + length;
        List<Integer> from = close ? closing : allowed;
        return from.get(random.nextInt(from.size()));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "{\"type\":\"integer\"} ~ -0 ~ true",
                "{\"type\":\"integer\"} ~ 01 ~ false",
                "{\"type\":\"integer\"} ~ 1.0 ~ false",
                "{\"type\":\"number\"} ~ -12.5e-3 ~ true",
                "{\"type\":\"integer\",\"minimum\":-17,\"maximum\":203} ~ 203 ~ true",
                "{\"type\":\"integer\",\"minimum\":-17,\"maximum\":203} ~ 204 ~ false",
                "{\"type\":\"integer\",\"minimum\":-17,\"maximum\":203} ~ -17 ~ true",
                "{\"type\":\"integer\",\"minimum\":-17,\"maximum\":203} ~ -18 ~ false",
                "{\"type\":\"number\",\"minimum\":0,\"maximum\":1} ~ 0.731 ~ true",
                "{\"type\":\"number\",\"minimum\":0,\"maximum\":1} ~ 1.0 ~ true",
                "{\"type\":\"number\",\"minimum\":0,\"maximum\":1} ~ 1.01 ~ false",
                "{\"type\":\"number\",\"exclusiveMinimum\":-2.75} ~ -2.7499 ~ true",
                "{\"type\":\"number\",\"exclusiveMinimum\":-2.75} ~ -2.75 ~ false",
                "{\"type\":\"string\"} ~ \"a\\u00e9\\n\\\"é😀\" ~ true",
                "{\"type\":\"string\"} ~ \"\\ud83d\" ~ false",
                "{\"type\":\"string\"} ~ \"\\x\" ~ false",
                "{\"type\":\"string\",\"maxLength\":2} ~ \"é😀\" ~ true",
                "{\"type\":\"string\",\"maxLength\":2} ~ \"abc\" ~ false",
                "{\"type\":\"string\",\"format\":\"date\"} ~ \"2024-02-29\" ~ true",
                "{\"type\":\"string\",\"format\":\"date\"} ~ \"2023-02-29\" ~ false",
                "{\"type\":\"string\",\"format\":\"date\"} ~ \"2000-02-29\" ~ true",
                "{\"type\":\"string\",\"format\":\"date\"} ~ \"1900-02-29\" ~ false",
                "{\"type\":\"string\",\"format\":\"date\"} ~ \"2023-04-31\" ~ false",
                "{\"type\":\"string\",\"pattern\":\"^a+$\"} ~ \"aab\" ~ false",
                "{\"type\":\"string\",\"pattern\":\"b\"} ~ \"aab\" ~ true",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}} ~ {\"a\": 1} ~ true",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}} ~ {} ~ true",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}} ~ {\"b\":1} ~ false",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"additionalProperties\":true} ~ {\"b\":1,\"ab\":[]} ~ true",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"additionalProperties\":true} ~ {\"b\":1,\"a\":\"x\"} ~ false",
                "{\"type\":\"object\",\"properties\":{}} ~ {} ~ true",
                "{\"type\":\"object\",\"properties\":{}} ~ {\"b\":1} ~ false",
                "{\"type\":\"object\"} ~ {\"b\":1} ~ true",
                "{\"type\":\"array\"} ~ [1, \"a\", {\"k\":[]}] ~ true",
                "{\"type\":\"array\"} ~ [1,] ~ false",
                "{\"enum\":[\"a\",\"b\"],\"nullable\":true} ~ null ~ true",
                "{} ~ {\"a\":[true,false,null,-1.5e10,\"x\"]} ~ true"
            })
    void textsAreTakenOrRefused(String schema, String text, boolean taken) {
        assertEquals(taken, Grammars.accepts(Grammars.schema(schema, VOCABULARY), text));
    }

    @Test
    void layoutsThatModelsWriteAreTaken() {
        GrammarMachine machine = Grammars.schema(
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}},\"required\":[\"a\",\"b\"]}",
                VOCABULARY);
        for (String text : List.of(
                "{\"a\":1,\"b\":[1,2]}",
                "{\"a\": 1, \"b\": [1, 2]}",
                "{ \"a\": 1, \"b\": [ 1 ] }",
                "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}",
                "{\"a\":1,\"b\":[]}")) {
            assertTrue(Grammars.accepts(machine, text), text);
        }
        assertFalse(Grammars.accepts(machine, "{\"b\":[],\"a\":1}"));
        assertFalse(Grammars.accepts(machine, "{\"a\":1}"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "{\"type\":\"object\",\"patternProperties\":{}} ~ \"patternProperties\"",
                "{\"not\":{}} ~ \"not\"",
                "{\"type\":\"array\",\"uniqueItems\":true} ~ \"uniqueItems\"",
                "{\"type\":\"integer\",\"multipleOf\":5} ~ \"multipleOf\"",
                "{\"type\":\"string\",\"pattern\":\"(?=a)\"} ~ \"pattern\"",
                "{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"} ~ \"pattern\"",
                "{\"type\":\"thing\"} ~ \"type\"",
                "{\"$ref\":\"#/$defs/none\"} ~ \"$ref\"",
                "{\"$ref\":\"http://example.com/x\"} ~ \"$ref\"",
                "{\"allOf\":[{\"$ref\":\"#\"}]} ~ \"allOf\"",
                "{\"type\":\"string\",\"minLength\":5,\"maxLength\":2} ~ \"minLength\"",
                "{\"type\":\"string\",\"pattern\":\"^abc$\",\"maxLength\":2} ~ \"pattern\"",
                "{\"type\":\"array\",\"minItems\":3,\"maxItems\":2} ~ \"minItems\"",
                "{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"y\":{}}} ~ \"required\"",
                "{\"allOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]} ~ \"type\"",
                "{\"const\":1,\"type\":\"string\"} ~ \"const\"",
                "{\"type\":\"object\",\"required\":[\"y\"],\"properties\":{\"y\":false}} ~ \"required\"",
                "{\"type\":\"string\",\"pattern\":\"\\\\p{Nothing}\"} ~ \"pattern\"",
                "{\"type\":\"integer\",\"minimum\":5,\"maximum\":4} ~ \"minimum\"",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"contains\":{}}}}}} ~ \"contains\""
            })
    void schemasThatCannotBeFollowedNameTheKeyword(String schema, String keyword) {
        String message = messageOf(GrammarException.class, () -> Grammars.schema(schema, VOCABULARY));
        assertTrue(message.contains(keyword), message);
    }

    @Test
    void integerRangesAreExact() {
        Random random = new Random(9);
        for (int round = 0; round < 60; round++) {
            int low = random.nextInt(-300, 300);
            int high = low + random.nextInt(0, 400);
            GrammarMachine machine = Grammars.schema(
                    "{\"type\":\"integer\",\"minimum\":" + low + ",\"maximum\":" + high + "}", VOCABULARY);
            for (int value = low - 20; value <= high + 20; value++) {
                boolean inside = value >= low && value <= high;
                assertEquals(
                        inside, Grammars.accepts(machine, String.valueOf(value)), low + ".." + high + ": " + value);
            }
        }
    }

    @Test
    void numberRangesAreExact() {
        Random random = new Random(10);
        for (int round = 0; round < 150; round++) {
            java.math.BigDecimal low = java.math.BigDecimal.valueOf(random.nextInt(-2500, 2500), random.nextInt(0, 4));
            java.math.BigDecimal high =
                    low.add(java.math.BigDecimal.valueOf(random.nextInt(1, 3000), random.nextInt(0, 4)));
            boolean open = random.nextBoolean();
            String schema =
                    "{\"type\":\"number\",\"" + (open ? "exclusiveMinimum" : "minimum") + "\":" + low.toPlainString()
                            + ",\"" + (open ? "exclusiveMaximum" : "maximum") + "\":" + high.toPlainString() + "}";
            GrammarMachine machine = Grammars.schema(schema, VOCABULARY);
            for (int probe = 0; probe < 60; probe++) {
                java.math.BigDecimal value = (random.nextBoolean() ? low : high)
                        .add(java.math.BigDecimal.valueOf(random.nextInt(-30, 30), random.nextInt(0, 5)));
                if (value.signum() == 0 && value.scale() > 0) {
                    continue;
                }
                int below = value.compareTo(low);
                int above = value.compareTo(high);
                boolean inside = open ? below > 0 && above < 0 : below >= 0 && above <= 0;
                assertEquals(
                        inside,
                        Grammars.accepts(machine, value.toPlainString()),
                        schema + ": " + value.toPlainString());
            }
        }
    }
}
