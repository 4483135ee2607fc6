package dev.strata.grammar;

import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.List;

/** Measures masks on the whole Qwen3 vocabulary. Run its main method. */
public final class GrammarBenchmark {
    private GrammarBenchmark() {}

    private record Case(String name, String schema, String answer) {}

    private static final List<Case> CASES = List.of(
            new Case(
                    "person",
                    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"email\":{\"type\":\"string\"},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"active\":{\"type\":\"boolean\"}},\"required\":[\"name\",\"age\",\"email\",\"tags\",\"active\"],\"additionalProperties\":false}",
                    "{\"name\": \"Anna Schmidt-Müller\", \"age\": 31, \"email\": \"anna@example.com\", \"tags\": [\"first tag\", \"second\", \"a third one, with a comma\"], \"active\": true}"),
            new Case(
                    "tool arguments",
                    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"old\":{\"type\":\"string\"},\"new\":{\"type\":\"string\"}},\"required\":[\"path\",\"old\",\"new\"]}",
                    "{\"path\": \"src/main/java/dev/strata/Main.java\", \"old\": \"public static void main(String[] args) {\\n    System.out.println(\\\"hi\\\");\\n}\", \"new\": \"public static void main(String[] arguments) {\\n    start(arguments);\\n}\"}"),
            new Case(
                    "nested",
                    "{\"type\":\"object\",\"properties\":{\"order\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"},\"state\":{\"enum\":[\"open\",\"paid\",\"sent\"]},\"to\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"zip\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"city\"]}},\"required\":[\"id\",\"state\"]},\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"},\"price\":{\"type\":\"number\"}},\"required\":[\"name\",\"count\"]}}},\"required\":[\"order\",\"items\"]}",
                    "{\"order\": {\"id\": 731, \"state\": \"paid\", \"to\": {\"city\": \"Kiel\", \"zip\": null}}, \"items\": [{\"name\": \"blue lamp\", \"count\": 2, \"price\": 19.95}, {\"name\": \"chair\", \"count\": 1}]}"),
            new Case(
                    "any object",
                    "{\"type\":\"object\"}",
                    "{\"a\": [1, 2, {\"b\": \"some text here\", \"c\": null}], \"d\": {\"e\": 1.5e10}}"),
            new Case(
                    "limited",
                    "{\"type\":\"object\",\"properties\":{\"title\":{\"type\":\"string\",\"maxLength\":80},\"date\":{\"type\":\"string\",\"format\":\"date\"},\"kind\":{\"enum\":[\"bug\",\"feature\",\"question\"]},\"id\":{\"type\":\"string\",\"pattern\":\"^[A-Z]{2,5}-\\\\d{1,6}$\"}},\"required\":[\"title\",\"date\",\"kind\",\"id\"]}",
                    "{\"title\": \"The server does not answer when the queue is full and a client leaves\", \"date\": \"2024-11-05\", \"kind\": \"bug\", \"id\": \"STR-1234\"}"));

    public static void main(String[] arguments) {
        Tokenizer tokenizer = TokenizerFixtures.qwen3().orElseThrow();
        long start = cpuNanos();
        GrammarVocabulary vocabulary = GrammarVocabulary.of(tokenizer);
        System.out.printf("vocabulary index: %.0f ms%n", (cpuNanos() - start) / 1e6);
        for (int round = 0; round < 15; round++) {
            System.out.printf(
                    "round %d putting a mask on logits: %.1f us%n", round, apply(vocabulary, CASES.getFirst()));
            for (Case one : CASES) {
                start = cpuNanos();
                GrammarMachine machine = Grammars.schema(one.schema, vocabulary);
                double compile = (cpuNanos() - start) / 1e3;
                int[] tokens = tokenizer.encode(one.answer, false);
                double[] cold = run(machine, tokens, tokenizer);
                double[] warm = run(machine, tokens, tokenizer);
                System.out.printf(
                        "round %d %-15s compile %7.0f us; %3d tokens, first time %6.1f us a token (worst %6.0f), again %5.2f us, %d states%n",
                        round, one.name, compile, tokens.length, cold[0], cold[1], warm[0], machine.states());
            }
        }
    }

    /** Microseconds to put one mask on a row of logits. */
    private static double apply(GrammarVocabulary vocabulary, Case one) {
        GrammarConstraint constraint = new GrammarConstraint(Grammars.schema(one.schema, vocabulary));
        float[] logits = new float[vocabulary.tokenizer().vocabularySize()];
        long start = cpuNanos();
        for (int count = 0; count < 200; count++) {
            constraint.mask(logits);
        }
        return (cpuNanos() - start) / 200e3;
    }

    /** Time of this thread on a processor, so that other work on the machine does not count. */
    private static long cpuNanos() {
        return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Mean and worst microseconds a token. */
    private static double[] run(GrammarMachine machine, int[] tokens, Tokenizer tokenizer) {
        GrammarConstraint constraint = new GrammarConstraint(machine);
        // That clock itself takes microseconds, so a single token is timed with the other one.
        long worst = 0;
        long start = cpuNanos();
        for (int token : tokens) {
            long begin = System.nanoTime();
            if (!constraint.accepts(token)) {
                throw new IllegalStateException("not allowed: " + tokenizer.decode(token));
            }
            constraint.accept(token);
            worst = Math.max(worst, System.nanoTime() - begin);
        }
        return new double[] {(cpuNanos() - start) / 1e3 / tokens.length, worst / 1e3};
    }
}
