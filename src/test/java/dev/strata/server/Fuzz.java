package dev.strata.server;

import dev.strata.chat.OutputFuzz;
import dev.strata.grammar.SchemaFuzz;
import java.util.Random;

/** Everything that reads what strangers send, fed with nonsense: requests, answers with tool calls, JSON schemas. {@code Fuzz SECONDS [SEED]}. */
final class Fuzz {
    private Fuzz() {}

    public static void main(String[] arguments) throws Exception {
        long seconds = Long.parseLong(arguments[0]);
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.nanoTime();
        System.out.println("fuzz: seed " + seed);
        Random random = new Random(seed);
        long part = Math.max(1, seconds / 12);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        long requests = 0;
        long answers = 0;
        long compiled = 0;
        long refused = 0;
        while (System.nanoTime() < end) {
            requests += RequestFuzzTest.bend(part, random);
            answers += OutputFuzz.run(part, random);
            int[] schemas = SchemaFuzz.run(part, random);
            compiled += schemas[0];
            refused += schemas[1];
        }
        System.out.println("PASS fuzz: " + requests + " requests, " + answers + " answers read, " + compiled
                + " schemas compiled, " + refused + " refused, nothing broken");
        System.exit(0);
    }
}
