package dev.strata.grammar;

import dev.strata.JsonBender;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Bent JSON schemas: each is compiled or refused with a reason, and what was compiled can be written to its end. */
public final class SchemaFuzz {
    private static final List<String> SAMPLES = List.of(
            "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":9},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,\"maxItems\":3}},\"required\":[\"name\",\"age\"],\"additionalProperties\":false}",
            "{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^[A-Z]{2,5}-\\\\d{1,6}$\"},{\"$ref\":\"#/$defs/point\"}],\"$defs\":{\"point\":{\"type\":\"array\",\"prefixItems\":[{\"type\":\"number\",\"exclusiveMinimum\":-3,\"exclusiveMaximum\":7.5},{\"const\":1}],\"items\":false,\"minItems\":2}}}",
            "{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\",2,null]}}},{\"properties\":{\"b\":{\"type\":[\"boolean\",\"null\"]}},\"required\":[\"a\"]}]}",
            "{\"type\":\"object\",\"properties\":{\"when\":{\"type\":\"string\",\"format\":\"date-time\"},\"id\":{\"type\":\"string\",\"format\":\"uuid\",\"nullable\":true},\"ip\":{\"format\":\"ipv4\",\"type\":\"string\"},\"self\":{\"$ref\":\"#\"}},\"additionalProperties\":{\"type\":\"number\"}}");

    private SchemaFuzz() {}

    /** Bends schemas for a while; returns how many were compiled and how many were refused. */
    public static int[] run(long seconds, Random random) throws IOException {
        JsonBender bender = new JsonBender(random);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        int[] counts = new int[2];
        do {
            String schema =
                    bender.bentTree(SAMPLES.get(random.nextInt(SAMPLES.size()))).toString();
            try {
                GrammarMachine machine = Grammars.schema(schema, SchemaCompilerTest.VOCABULARY);
                counts[0] += SchemaCompilerTest.write(machine, random, 60) >= 0 ? 1 : 0;
            } catch (GrammarException refused) {
                if (String.valueOf(refused.getMessage()).isBlank()) {
                    throw new IllegalStateException("no reason for " + schema, refused);
                }
                counts[1]++;
            } catch (RuntimeException | StackOverflowError broken) {
                throw new IllegalStateException("broken by " + schema, broken);
            }
        } while (System.nanoTime() < end);
        return counts;
    }
}
