package dev.strata.grammar;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiException;
import dev.strata.api.OutputFormat;
import dev.strata.sampling.TokenConstraint;
import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Schemas and grammars made to be slow or large: they are followed, or refused with the keyword, within a bounded time and memory. */
public class HostileTest {
    private static Tokenizer tokenizer;
    private static ConstraintFactory factory;
    private static long slowestMask;

    /** Too much for a mask in some places: what comes to them ends its answer with this. */
    private static final String EITHER = "at one place";

    /** @param refused part of the message; empty: can be followed; {@link #EITHER}: depends on the text */
    record Attack(String name, String text, String refused) {
        private boolean isRight(String answer) {
            return answer.isEmpty()
                    ? refused.isEmpty() || refused.equals(EITHER)
                    : !refused.isEmpty() && answer.contains(refused);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static String repeated(int count, String separator, IntFunction<String> part) {
        return IntStream.range(0, count).mapToObj(part).collect(Collectors.joining(separator));
    }

    private static Attack pattern(String pattern, String refused) {
        return new Attack(
                "pattern " + pattern.substring(0, Math.min(40, pattern.length())),
                "{\"type\":\"string\",\"pattern\":\""
                        + pattern.replace("\\", "\\\\").replace("\"", "\\\"") + "\"}",
                refused);
    }

    private static Attack words(String name, int count) {
        return new Attack(
                name,
                "{\"enum\":[" + repeated(count, ",", index -> "\"entry number " + index * 7919 % count + "\"") + "]}",
                "");
    }

    private static Attack optional(String name, int count) {
        return object(name, repeated(count, ",", index -> "\"property" + index + "\":{}"));
    }

    private static Attack name(String name, int length) {
        return object(name, "\"" + "n".repeat(length) + "\":{}");
    }

    private static Attack object(String name, String properties) {
        return new Attack(
                name, "{\"type\":\"object\",\"properties\":{" + properties + "},\"additionalProperties\":true}", "");
    }

    /** Rules that each call the next one. */
    private static Attack chain(String name, int length) {
        return new Attack(
                name,
                definitions(
                        length, index -> "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/d" + (index + 1) + "\"}}"),
                "");
    }

    /** So many definitions, of which the first is the schema, and a string as the last. */
    private static String definitions(int count, IntFunction<String> definition) {
        return "{\"$ref\":\"#/$defs/d0\",\"$defs\":{"
                + repeated(count, ",", index -> "\"d" + index + "\":" + definition.apply(index)) + ",\"d" + count
                + "\":{\"type\":\"string\"}}}";
    }

    static List<Attack> attacks() {
        String deep = "{\"type\":\"array\",\"items\":".repeat(60) + "{}" + "}".repeat(60);
        return List.of(
                new Attack("deep", deep, ""),
                words("words", 2_000),
                new Attack(
                        "long words",
                        "{\"enum\":[" + repeated(45, ",", index -> "\"" + index + "x".repeat(10_000) + "\"") + "]}",
                        "\"enum\""),
                pattern("(a?){400}a{400}", ""),
                pattern("\\p{L}\\P{Lu}\\p{Script=Greek}?".repeat(20), EITHER),
                optional("optional", 200),
                name("a name", 5_000),
                chain("a chain", 1500),
                new Attack("too deep", "{\"items\":".repeat(300) + "{}" + "}".repeat(300), "nested deeper"),
                new Attack("far too deep", "{\"items\":".repeat(5000) + "{}" + "}".repeat(5000), "not JSON"),
                pattern("(a+)+$", ""),
                pattern("^((a|b|ab)*)*c$", ""),
                pattern("(.*a){20}", ""),
                pattern("^(a|b)*a(a|b){60}$", ""),
                pattern("a{1000}{1000}", "\"pattern\""),
                pattern("((a{1000}){1000}){1000}", "\"pattern\""),
                pattern("(((((){10000}){10000}){10000}){10000})x", ""),
                pattern("(((((){0,10000}){0,10000}){0,10000}){0,10000})x", ""),
                pattern("^\\w{1,5000}$", ""),
                pattern("(((()(){10000}){10000}){10000}){10000}x", ""),
                pattern("(".repeat(5000) + ")".repeat(5000), "\"pattern\""),
                pattern("a**", "\"pattern\""),
                pattern("a{3,2}", "\"pattern\""),
                pattern("a{2,", "\"pattern\""),
                pattern(
                        "[" + repeated(30_000, "", index -> Character.toString(0x4E00 + 2 * (index % 10_000))) + "]",
                        "\"pattern\""),
                pattern("[" + repeated(2_000, "", index -> Character.toString(0x4E00 + 2 * index)) + "]{1,2000}", ""),
                pattern("\\p{Nonsense}", "\"pattern\""),
                new Attack("far", "{\"type\":\"string\",\"minLength\":9000,\"maxLength\":30000}", ""),
                new Attack("too far", "{\"type\":\"string\",\"maxLength\":2000000000}", "maxLength"),
                new Attack(
                        "many items",
                        "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":9999,\"maxItems\":10000}",
                        ""),
                new Attack("far too many items", "{\"type\":\"array\",\"minItems\":2000000000}", "\"minItems\""),
                new Attack(
                        "too many optional",
                        "{\"type\":\"object\",\"properties\":{"
                                + repeated(5000, ",", index -> "\"property" + index + "\":{}") + "}}",
                        "\"properties\""),
                new Attack("conflicts", "{\"allOf\":[{\"type\":\"string\"},{\"enum\":[1,2]}]}", "\"enum\""),
                new Attack(
                        "conflicting bounds",
                        "{\"allOf\":[{\"type\":\"integer\",\"minimum\":5},{\"maximum\":4}]}",
                        "\"minimum\""),
                new Attack("conflicting constants", "{\"allOf\":[{\"const\":\"a\"},{\"const\":\"b\"}]}", "\"const\""),
                new Attack("constant and enum", "{\"const\":\"a\",\"enum\":[\"b\"]}", "\"const\""),
                new Attack("constant and type", "{\"const\":\"a\",\"type\":\"integer\"}", "\"const\""),
                new Attack(
                        "choices in choices",
                        "{\"allOf\":["
                                + repeated(
                                        40,
                                        ",",
                                        index -> "{\"anyOf\":[{\"minimum\":" + index + "},{\"maximum\":" + (100 + index)
                                                + "}]}")
                                + "]}",
                        "\"anyOf\""),
                new Attack(
                        "many choices",
                        "{\"anyOf\":[" + repeated(20_000, ",", index -> "{\"const\":" + index + "}") + "]}",
                        "\"anyOf\""),
                new Attack("refers to itself", "{\"$ref\":\"#\"}", "\"$ref\""),
                new Attack(
                        "refers to itself in a circle",
                        "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
                        "\"$ref\""),
                new Attack(
                        "a circle of merges",
                        "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"string\",\"$ref\":\"#/$defs/b\"},\"b\":{\"minLength\":1,\"$ref\":\"#/$defs/a\"}}}",
                        "\"$ref\""),
                new Attack("a choice of itself", "{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}", "\"$ref\""),
                new Attack(
                        "always one more",
                        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
                        "\"$ref\""),
                new Attack(
                        "one more or not",
                        "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/endless\"},{\"type\":\"null\"}]}},\"required\":[\"a\"],\"$defs\":{\"endless\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/endless\"}}}}",
                        ""),
                new Attack(
                        "laughs",
                        definitions(
                                40,
                                index -> "{\"allOf\":[{\"$ref\":\"#/$defs/d" + (index + 1) + "\"},{\"$ref\":\"#/$defs/d"
                                        + (index + 1) + "\"}]}"),
                        "\"allOf\""),
                new Attack("endless numbers", "{\"type\":\"number\",\"minimum\":-1e400}", "\"minimum\""),
                new Attack(
                        "large numbers", "{\"type\":\"integer\",\"minimum\":-1e300,\"maximum\":1e300}", "\"minimum\""),
                new Attack("long numbers", "{\"type\":\"integer\",\"maximum\":" + "9".repeat(900) + "}", "\"maximum\""),
                new Attack("far exponents", "{\"type\":\"number\",\"maximum\":1e-999999999,\"minimum\":0}", ""),
                new Attack(
                        "small steps",
                        "{\"type\":\"number\",\"minimum\":0.1234567890123,\"maximum\":0.1234567890124}",
                        ""),
                new Attack("root ::= left recursion", "root ::= \"a\" x\nx ::= x \"b\" | \"c\"", "left recursion"),
                new Attack("root ::= endless", "root ::= \"a\" root", "contains itself"),
                new Attack(
                        "root ::= hidden left recursion",
                        "root ::= ws root \"x\" | \"y\"\nws ::= \" \"*",
                        "left recursion"),
                new Attack("root ::= stars", "root ::= \"a\"" + "*".repeat(5000), "repetitions"),
                new Attack("root ::= nothing, often", "root ::= (((\"\"{10000}){10000}){10000}){10000} \"x\"", ""),
                new Attack("root ::= doubled stacks", "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"", EITHER),
                new Attack("root ::= brackets", "root ::= " + "(".repeat(5000), "nesting"));
    }

    /** Attacks that take some tenths of a second each; for {@link #main}. */
    private static List<Attack> large() {
        return List.of(
                new Attack(
                        "200,000 words",
                        "{\"enum\":["
                                + repeated(200_000, ",", index -> "\"" + index * 7919L % 200_003 * 1_000_003 + "\"")
                                + "]}",
                        "\"enum\""),
                new Attack(
                        "patterns together",
                        "{\"allOf\":["
                                + repeated(
                                        12,
                                        ",",
                                        index -> "{\"type\":\"string\",\"pattern\":\"(a|b).{" + index + "}c\"}")
                                + "],\"maxLength\":1000}",
                        "\"pattern\""),
                new Attack(
                        "many items of many",
                        "{\"type\":\"array\",\"items\":{\"enum\":[1]},\"maxItems\":10000,\"prefixItems\":["
                                + repeated(9000, ",", index -> "{\"type\":\"string\",\"format\":\"date-time\"}") + "]}",
                        "too large"),
                new Attack(
                        "laughs in properties",
                        definitions(
                                40,
                                index ->
                                        "{\"type\":\"object\",\"nullable\":true,\"properties\":{\"a\":{\"$ref\":\"#/$defs/d"
                                                + (index + 1) + "\",\"nullable\":true},\"b\":{\"$ref\":\"#/$defs/d"
                                                + (index + 1) + "\",\"nullable\":true}}}"),
                        "\"$ref\""),
                pattern("^(.*[a-m].{40}|.*[n-z].{41}|.*[A-M].{42}|.*[N-Z].{43})$", EITHER),
                pattern("^.*[a-m].{40}$", EITHER),
                pattern("\\p{L}\\P{Lu}\\p{Script=Greek}?".repeat(300), EITHER),
                name("a long name", 30_000),
                new Attack("root ::= powers", "root ::= ((\"a\"{10000}){10000}){10000}", "too large"),
                chain("a long chain", 5000),
                words("10,000 words", 10_000),
                pattern("(a?){2000}a{2000}", ""),
                optional("many optional", 900));
    }

    @BeforeAll
    static void start() {
        tokenizer = TokenizerFixtures.strataTiny();
        factory = new ConstraintFactory(tokenizer);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void attacksEnd(Attack attack) {
        String answer = answer(attack);
        assertTrue(attack.isRight(answer), () -> "said \"" + answer + "\"");
    }

    /** Why it was refused; empty when some tokens could be written. */
    private static String answer(Attack attack) {
        try {
            OutputFormat format = attack.text.startsWith("root")
                    ? new OutputFormat.Grammar(attack.text)
                    : new OutputFormat.JsonSchema("attack", attack.text);
            TokenConstraint constraint = factory.of(format, false, false).orElseThrow();
            Random random = new Random(3);
            for (int step = 0; step < 12 && !constraint.finished(); step++) {
                long begin = System.nanoTime();
                long[] allowed = constraint.allowed();
                slowestMask = Math.max(slowestMask, System.nanoTime() - begin);
                constraint.accept(drawn(allowed, random));
            }
            return "";
        } catch (ApiException refused) {
            return refused.error().message();
        } catch (GrammarException late) {
            return "while writing: " + late.getMessage();
        }
    }

    private static int drawn(long[] mask, Random random) {
        int tokens = mask.length * 64;
        int first = random.nextInt(tokens);
        for (int step = 0; step < tokens; step++) {
            int token = (first + step) % tokens;
            if ((mask[token >> 6] >>> token & 1) != 0) {
                return token;
            }
        }
        throw new AssertionError("no token may follow");
    }

    /** Times all of them, on the whole vocabulary of Qwen3. */
    public static void main(String[] arguments) {
        tokenizer = arguments.length > 0
                ? TokenizerFixtures.strataTiny()
                : TokenizerFixtures.qwen3().orElseThrow();
        factory = new ConstraintFactory(tokenizer);
        List<Attack> all = new ArrayList<>(attacks());
        all.addAll(large());
        for (Attack attack : all) {
            slowestMask = 0;
            long start = System.nanoTime();
            String said = answer(attack);
            boolean right = attack.isRight(said);
            System.out.printf(
                    Locale.ROOT,
                    "%s%5d ms, slowest mask %4d us: %s: %s%n",
                    right ? "" : "WRONG ",
                    (System.nanoTime() - start) / 1_000_000,
                    slowestMask / 1_000,
                    attack.name,
                    said.substring(0, Math.min(150, said.length())));
        }
    }
}
