package dev.strata.grammar;

import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Measures masks on the whole Qwen3 vocabulary. Run its main method, with a number of rounds if 30 are not wanted, and the part of a case's
 * name to see each of its tokens.
 */
public final class GrammarBenchmark {
    private GrammarBenchmark() {}

    /** @param schema a schema, a grammar, or "json" and "xml" for calls of tools */
    record Case(String name, String schema, String answer) {
        GrammarMachine machine(GrammarVocabulary vocabulary) {
            if (schema.startsWith("root ::=")) {
                return new GrammarMachine(GbnfParser.parse(schema), vocabulary);
            }
            return schema.startsWith("{")
                    ? Grammars.schema(schema, vocabulary)
                    : tools(schema.equals("xml"), vocabulary);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static final List<Case> CASES = List.of(
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
                    "{\"title\": \"The server does not answer when the queue is full and a client leaves\", \"date\": \"2024-11-05\", \"kind\": \"bug\", \"id\": \"STR-1234\"}"),
            new Case(
                    "short strings",
                    "{\"type\":\"object\",\"properties\":{\"first\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":20},\"code\":{\"type\":\"string\",\"minLength\":3,\"maxLength\":10},\"note\":{\"type\":\"string\",\"minLength\":10,\"maxLength\":300},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":15},\"minItems\":1,\"maxItems\":5}},\"required\":[\"first\",\"code\",\"note\",\"tags\"]}",
                    "{\"first\": \"Annemarie\", \"code\": \"abc de\", \"note\": \"She said \\\"no\\\" twice, then left the room in a hurry\", \"tags\": [\"calm\", \"out of office\"]}"),
            new Case(
                    "patterns",
                    "{\"type\":\"object\",\"properties\":{\"mail\":{\"type\":\"string\",\"pattern\":\"^[^@\\\\s]+@[\\\\w.-]+\\\\.[a-z]{2,}$\"},\"phone\":{\"type\":\"string\",\"pattern\":\"^\\\\+?[0-9 ()-]{6,20}$\"},\"slug\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9]+(-[a-z0-9]+)*$\"},\"word\":{\"type\":\"string\",\"pattern\":\"^\\\\w+$\"},\"has\":{\"type\":\"string\",\"pattern\":\"error\"},\"at\":{\"type\":\"string\",\"format\":\"date-time\"},\"uid\":{\"type\":\"string\",\"format\":\"uuid\"},\"ip\":{\"type\":\"string\",\"format\":\"ipv4\"}},\"required\":[\"mail\",\"phone\",\"slug\",\"word\",\"has\",\"at\",\"uid\",\"ip\"]}",
                    "{\"mail\": \"anna.schmidt@mail.example.com\", \"phone\": \"+49 (431) 123-456\", \"slug\": \"how-to-make-masks\", \"word\": \"snake_case_word\", \"has\": \"an error in line 3\", \"at\": \"2024-11-05T12:30:00Z\", \"uid\": \"550e8400-e29b-41d4-a716-446655440000\", \"ip\": \"192.168.10.254\"}"),
            new Case(
                    "counted patterns",
                    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^[a-zA-Z0-9_-]{1,64}$\"},\"user\":{\"type\":\"string\",\"pattern\":\"^\\\\w{3,30}$\"},\"host\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9-]{3,63}$\"}},\"required\":[\"id\",\"user\",\"host\"]}",
                    "{\"id\": \"toolu_01A09q90qw90lq917835lq9-call\", \"user\": \"anna_schmidt_1987\", \"host\": \"build-server-17-north\"}"),
            new Case(
                    "counted sets",
                    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^[^,]{1,200}$\"},\"line\":{\"type\":\"string\",\"pattern\":\"^[^\\\\n\\\\r]{10,100}$\"}},\"required\":[\"name\",\"line\"]}",
                    "{\"name\": \"Anna Schmidt from the north\", \"line\": \"She said \\\"no\\\" twice, then left the room in a hurry\"}"),
            new Case(
                    "numbers",
                    "{\"type\":\"object\",\"properties\":{\"percent\":{\"type\":\"number\",\"minimum\":0,\"maximum\":100},\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535},\"lat\":{\"type\":\"number\",\"minimum\":-90,\"maximum\":90},\"price\":{\"type\":\"number\",\"exclusiveMinimum\":0},\"many\":{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":-1.5,\"maximum\":1.5},\"maxItems\":16}},\"required\":[\"percent\",\"port\",\"lat\",\"price\",\"many\"]}",
                    "{\"percent\": 99.25, \"port\": 8080, \"lat\": -54.3233, \"price\": 1234.5, \"many\": [0.25, -1.125, 1, 0.333333]}"),
            new Case(
                    "enums",
                    "{\"type\":\"object\",\"properties\":{\"country\":{\"enum\":["
                            + String.join(
                                    ",",
                                    Arrays.stream(Locale.getISOCountries())
                                            .map(code ->
                                                    "\"" + Locale.of("", code).getDisplayCountry(Locale.ENGLISH) + "\"")
                                            .toList())
                            + "]},\"level\":{\"type\":\"integer\",\"enum\":[1,2,3,5,8,13]},\"state\":{\"type\":\"string\",\"enum\":[\"in_progress\",\"in_review\",\"done\"]}},\"required\":[\"country\",\"level\",\"state\"]}",
                    "{\"country\": \"South Africa\", \"level\": 13, \"state\": \"in_review\"}"),
            new Case(
                    "tree",
                    "{\"$defs\":{\"node\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},\"children\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/node\"}}},\"required\":[\"name\"],\"additionalProperties\":false}},\"$ref\":\"#/$defs/node\"}",
                    "{\"name\": \"root\", \"children\": [{\"name\": \"left\", \"size\": 3}, {\"name\": \"right\", \"children\": [{\"name\": \"leaf\", \"children\": [{\"name\": \"deepest one\"}]}]}]}"),
            new Case(
                    "choices",
                    "{\"type\":\"object\",\"properties\":{\"steps\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"think\"},\"text\":{\"type\":\"string\"}},\"required\":[\"kind\",\"text\"]},{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"search\"},\"query\":{\"type\":\"string\",\"maxLength\":200},\"pages\":{\"type\":[\"integer\",\"null\"]}},\"required\":[\"kind\",\"query\"]},{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"answer\"},\"extra\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}},\"required\":[\"kind\"]}]}}},\"required\":[\"steps\"]}",
                    "{\"steps\": [{\"kind\": \"think\", \"text\": \"It may rain\"}, {\"kind\": \"search\", \"query\": \"weather in Kiel\", \"pages\": 2}, {\"kind\": \"answer\", \"extra\": {\"sky\": \"grey\", \"wind\": \"west\"}}]}"),
            new Case(
                    "optional fields",
                    "{\"type\":\"object\",\"properties\":{"
                            + String.join(
                                    ",",
                                    java.util.stream.IntStream.range(0, 40)
                                            .mapToObj(index -> "\"field_" + index + "\":{\"type\":\""
                                                    + (index % 2 == 0 ? "string" : "integer") + "\"}")
                                            .toList())
                            + "}}",
                    "{\"field_2\": \"two\", \"field_11\": 5, \"field_38\": \"the last of them\"}"),
            new Case(
                    "grammar",
                    "root ::= line+\nline ::= [0-9]{1,3} \". \" word (\" \" word)* \": \" text \"\\n\"\nword ::= [A-Za-z]+\ntext ::= [^\\n]*",
                    "1. First of all: some words about it, as they come\n2. Second: 12 % of \"all\" is enough\n"),
            new Case(
                    "tools",
                    "json",
                    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Frankfurt am Main\", \"days\": 3, \"units\": \"C\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"search_files\", \"arguments\": {\"path\": \"/srv/data\", \"query\": \"masks of tokens\", \"most\": 25}}\n</tool_call>"),
            new Case(
                    "tools, xml",
                    "xml",
                    "<tool_call>\n<function=edit_file>\n<parameter=path>\nsrc/Main.java\n</parameter>\n<parameter=old>\nif (a < b) {\n    return a;\n}\n</parameter>\n<parameter=new>\nreturn Math.min(a, b);\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n<parameter=city>\nKiel\n</parameter>\n<parameter=days>\n4\n</parameter>\n</function>\n</tool_call>"));

    private static GrammarMachine tools(boolean xml, GrammarVocabulary vocabulary) {
        GrammarBuilder builder = new GrammarBuilder();
        int start = builder.node();
        List<dev.strata.api.Tool> tools = List.of(
                new dev.strata.api.Tool(
                        "get_weather",
                        "",
                        "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},\"units\":{\"enum\":[\"C\",\"F\"]}},\"required\":[\"city\"]}",
                        "{}"),
                new dev.strata.api.Tool(
                        "search_files",
                        "",
                        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"query\":{\"type\":\"string\",\"maxLength\":400},\"most\":{\"type\":\"integer\"}},\"required\":[\"path\",\"query\"]}",
                        "{}"),
                new dev.strata.api.Tool(
                        "edit_file",
                        "",
                        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"old\":{\"type\":\"string\"},\"new\":{\"type\":\"string\"}},\"required\":[\"path\",\"old\",\"new\"]}",
                        "{}"),
                new dev.strata.api.Tool("list_files", "", "{}", "{}"));
        builder.end(new ToolCallRules(builder, new JsonRules(builder), xml).calls(start, tools, true));
        return new GrammarMachine(builder.build(start), vocabulary);
    }

    /** Microseconds of one round. */
    private record Round(double compile, double[] first, double[] again, int states) {}

    public static void main(String[] arguments) {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30;
        String shown = arguments.length > 1 ? arguments[1] : "\0";
        Tokenizer tokenizer = TokenizerFixtures.qwen3().orElseThrow();
        long start = System.nanoTime();
        GrammarVocabulary vocabulary = GrammarVocabulary.of(tokenizer);
        System.out.printf(Locale.ROOT, "vocabulary index: %.0f ms%n", (System.nanoTime() - start) / 1e6);
        Round[][] measured = new Round[CASES.size()][rounds];
        double[] apply = new double[rounds];
        for (int round = 0; round < rounds; round++) {
            apply[round] = apply(vocabulary, CASES.getFirst());
            for (int index = 0; index < measured.length; index++) {
                measured[index][round] = round(CASES.get(index), vocabulary);
            }
        }
        System.out.printf(Locale.ROOT, "putting a mask on logits: %.1f us%n", apply[rounds / 2]);
        System.out.println(
                "microseconds; of each token the median of the rounds' second half; first: its first mask, a new machine each round");
        for (int index = 0; index < measured.length; index++) {
            report(
                    CASES.get(index),
                    measured[index],
                    tokenizer,
                    CASES.get(index).name.contains(shown));
        }
    }

    private static void report(Case one, Round[] rounds, Tokenizer tokenizer, boolean all) {
        int count = rounds[0].first.length;
        Round[] later = Arrays.copyOfRange(rounds, rounds.length / 2, rounds.length);
        double[] first = new double[count];
        double[] again = new double[count];
        for (int token = 0; token < count; token++) {
            int at = token;
            first[token] = median(Arrays.stream(later).mapToDouble(round -> round.first[at]));
            again[token] = median(Arrays.stream(later).mapToDouble(round -> round.again[at]));
        }
        double[] sorted = first.clone();
        Arrays.sort(sorted);
        System.out.printf(
                Locale.ROOT,
                "%-15s compile %6.0f; %3d tokens, first: mean %6.1f median %6.1f p99 %6.0f worst %6.0f; again %5.2f; cold virtual machine: compile %6.0f, mean %6.0f worst %6.0f; %d states%n",
                one.name,
                median(Arrays.stream(later).mapToDouble(Round::compile)),
                count,
                Arrays.stream(first).average().orElse(0),
                sorted[count / 2],
                sorted[(int) (count * 0.99)],
                sorted[count - 1],
                Arrays.stream(again).average().orElse(0),
                rounds[0].compile,
                Arrays.stream(rounds[0].first).average().orElse(0),
                Arrays.stream(rounds[0].first).max().orElse(0),
                rounds[0].states);
        if (all) {
            int[] tokens = tokenizer.encode(one.answer, false);
            for (int token = 0; token < count; token++) {
                System.out.printf(
                        Locale.ROOT,
                        "    %8.1f %5.1f before %s%n",
                        first[token],
                        again[token],
                        token < tokens.length ? tokenizer.decode(tokens[token]).replace("\n", "\\n") : "the end");
            }
        }
    }

    private static double median(java.util.stream.DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private static Round round(Case one, GrammarVocabulary vocabulary) {
        Tokenizer tokenizer = vocabulary.tokenizer();
        int[] tokens = tokenizer.encode(one.answer, false);
        long start = System.nanoTime();
        GrammarMachine machine = one.machine(vocabulary);
        double compile = (System.nanoTime() - start) / 1e3;
        return new Round(compile, run(machine, tokens, tokenizer), run(machine, tokens, tokenizer), machine.states());
    }

    /** Microseconds to put one mask on a row of logits. */
    private static double apply(GrammarVocabulary vocabulary, Case one) {
        GrammarConstraint constraint = new GrammarConstraint(Grammars.schema(one.schema, vocabulary));
        float[] logits = new float[vocabulary.tokenizer().vocabularySize()];
        long start = System.nanoTime();
        for (int count = 0; count < 50; count++) {
            constraint.mask(logits);
        }
        return (System.nanoTime() - start) / 50e3;
    }

    /** Microseconds of each token, and of the mask behind the last. */
    private static double[] run(GrammarMachine machine, int[] tokens, Tokenizer tokenizer) {
        GrammarConstraint constraint = new GrammarConstraint(machine);
        double[] times = new double[tokens.length + 1];
        for (int index = 0; index < tokens.length; index++) {
            long begin = System.nanoTime();
            boolean accepted = constraint.accepts(tokens[index]);
            if (accepted) {
                constraint.accept(tokens[index]);
            }
            times[index] = (System.nanoTime() - begin) / 1e3;
            if (!accepted) {
                throw new IllegalStateException("not allowed: " + tokenizer.decode(tokens[index]) + " (" + index + ")");
            }
        }
        long begin = System.nanoTime();
        if (constraint.allowed().length == 0) {
            throw new IllegalStateException("no mask");
        }
        times[tokens.length] = (System.nanoTime() - begin) / 1e3;
        return times;
    }
}
