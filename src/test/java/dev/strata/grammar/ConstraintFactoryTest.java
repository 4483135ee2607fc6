package dev.strata.grammar;

import static dev.strata.ErrorMessages.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.ApiException;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.chat.OutputEvent;
import dev.strata.chat.OutputParser;
import dev.strata.chat.OutputSyntax;
import dev.strata.sampling.TokenConstraint;
import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConstraintFactoryTest {
    private static final Tokenizer TOKENIZER = TokenizerFixtures.strataTiny();
    private static final int END = TOKENIZER.id("<|im_end|>").orElseThrow();
    private static final List<Tool> TOOLS = List.of(
            new Tool(
                    "get_weather",
                    "",
                    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},\"units\":{\"enum\":[\"C\",\"F\"]},\"code\":{\"$ref\":\"#/$defs/code\"},\"list\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":3},\"maybe\":{\"type\":[\"boolean\",\"null\"]}},\"$defs\":{\"code\":{\"type\":\"string\",\"pattern\":\"^[A-Z]{3}$\"}},\"required\":[\"city\"]}",
                    "{}"),
            new Tool("ping", "", "{}", "{}"));

    private final ConstraintFactory factory = new ConstraintFactory(TOKENIZER);

    private static void read(TokenConstraint constraint, String text) {
        for (int token : TOKENIZER.encode(text, true)) {
            assertTrue(constraint.accepts(token), () -> TOKENIZER.decode(token) + " in " + text);
            constraint.accept(token);
        }
    }

    @Test
    void reasoningComesBeforeTheConstraint() {
        TokenConstraint constraint =
                factory.of(new OutputFormat.JsonObject(), true, false).orElseThrow();
        TokenConstraint direct = constraint.fork();
        read(constraint, "<think>\nany { text \"at all\n");
        assertFalse(constraint.accepts(END));
        assertThrows(IllegalArgumentException.class, () -> constraint.fork().accept(END));
        read(constraint, "</think>\n\n{\"a\": 1}");
        assertTrue(constraint.finished());
        assertTrue(constraint.accepts(END));
        constraint.accept(END);
        assertTrue(constraint.finished());
        read(direct, "{}");
        assertTrue(direct.finished());
        assertFalse(factory.of(new OutputFormat.JsonObject(), true, false)
                .orElseThrow()
                .accepts(TOKENIZER.encode("Hi", true)[0]));
    }

    @Test
    void anOpenBlockIsFreeToItsEnd() {
        TokenConstraint constraint =
                factory.of(new OutputFormat.JsonObject(), true, true).orElseThrow();
        read(constraint, "free");
        // The tag spelled out in plain tokens closes the block too.
        for (int token : TOKENIZER.encode("</think>", false)) {
            constraint.accept(token);
        }
        assertFalse(constraint.accepts(TOKENIZER.encode("Hi", true)[0]));
        read(constraint, "{\"x\":\"</think>\"}");
        assertTrue(constraint.finished());
    }

    /** A token that ends the tag and goes on is the beginning of the answer, and has to fit. */
    @Test
    void whatFollowsTheTagInItsTokenIsHeldToTheRule() {
        int token = TOKENIZER.id(">\n").orElseThrow();
        for (boolean fits : new boolean[] {true, false}) {
            OutputFormat format = fits ? new OutputFormat.JsonObject() : new OutputFormat.Grammar("root ::= \"{}\"");
            TokenConstraint constraint = factory.of(format, true, true).orElseThrow();
            assertTrue(constraint.accepts(token), "no tag yet");
            for (int part : TOKENIZER.encode("so </think", false)) {
                constraint.accept(part);
            }
            assertEquals(fits, constraint.accepts(token), "behind the tag");
            if (fits) {
                constraint.accept(token);
                assertFalse(constraint.accepts(TOKENIZER.encode("Hi", true)[0]));
                read(constraint, "{}");
                assertTrue(constraint.finished());
            } else {
                assertThrows(IllegalArgumentException.class, () -> constraint.accept(token));
            }
        }
    }

    @Test
    void masksForbidWhatIsNotAllowed() {
        TokenConstraint constraint = factory.of(new OutputFormat.Grammar("root ::= \"yes\" | \"no\""), false, false)
                .orElseThrow();
        float[] logits = new float[TOKENIZER.vocabularySize() + 77];
        constraint.mask(logits);
        for (int token = 0; token < logits.length; token++) {
            assertEquals(constraint.accepts(token), logits[token] == 0, () -> "mask and accepts differ");
        }
        assertFalse(constraint.accepts(END));
        assertThrows(
                IllegalArgumentException.class,
                () -> constraint.accept(TOKENIZER.encode("x", true)[0]));
    }

    @Test
    void onlySoManySchemasAreKept() {
        TokenConstraint first = factory.of(new OutputFormat.Grammar("root ::= \"0\""), false, false)
                .orElseThrow();
        for (int number = 0; number < 100; number++) {
            factory.of(new OutputFormat.Grammar("root ::= \"" + number + "\""), false, false);
        }
        assertEquals(64, factory.kept());
        read(first, "0");
        assertTrue(first.finished());
    }

    @Test
    void draftsAreLookedAtInAFork() {
        TokenConstraint constraint = factory.of(new OutputFormat.Grammar("root ::= \"abc\""), false, false)
                .orElseThrow();
        TokenConstraint ahead = constraint.fork();
        read(ahead, "abc");
        assertTrue(ahead.finished());
        assertFalse(constraint.finished());
    }

    @Test
    void schemasThatCannotBeFollowedAreTheClientsError() {
        String message = messageOf(
                ApiException.class,
                () -> factory.of(
                        new OutputFormat.JsonSchema("s", "{\"type\":\"object\",\"propertyNames\":{}}"), false, false));
        assertTrue(message.contains("\"propertyNames\""), message);
        assertTrue(messageOf(ApiException.class, () -> factory.of(new OutputFormat.JsonSchema("s", "{"), false, false))
                .contains("not JSON"));
        Prompt.Chat chat = new Prompt.Chat(List.of(), TOOLS, new ToolChoice.Named("nobody"), true, Map.of());
        assertTrue(messageOf(ApiException.class, () -> factory.ofToolChoice(chat, false, false, false))
                .contains("nobody"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void forcedCallsAreReadByTheParser(boolean xml) {
        Random random = new Random(xml ? 1 : 2);
        for (int round = 0; round < 30; round++) {
            boolean several = round % 2 == 0;
            ToolChoice choice = several ? new ToolChoice.Required() : new ToolChoice.Named("get_weather");
            Prompt.Chat chat = new Prompt.Chat(List.of(), TOOLS, choice, several, Map.of());
            TokenConstraint constraint =
                    factory.ofToolChoice(chat, xml, false, false).orElseThrow();
            List<Integer> tokens = new ArrayList<>();
            StringBuilder written = new StringBuilder();
            while (!constraint.finished() && tokens.size() < 3000) {
                int token = draw(constraint, random, written.toString(), xml);
                constraint.accept(token);
                written.append(TOKENIZER.decode(token));
                if (!TOKENIZER.specialTokens().end().contains(token)) {
                    tokens.add(token);
                }
            }
            assertTrue(constraint.finished());
            String text = TOKENIZER.decode(tokens.stream().mapToInt(id -> id).toArray());
            OutputParser parser = new OutputParser(new OutputSyntax(false, false, TOOLS, 100), () -> "id");
            List<OutputEvent> events = new ArrayList<>(parser.push(text));
            events.addAll(parser.finish(false));
            assertTrue(parser.calls() >= 1, text);
            StringBuilder arguments = new StringBuilder();
            String name = "";
            for (OutputEvent event : events) {
                switch (event) {
                    case OutputEvent.CallStart start -> {
                        check(name, arguments.toString(), text);
                        name = start.name();
                        arguments.setLength(0);
                    }
                    case OutputEvent.CallArguments(int index, String fragment) -> arguments.append(fragment);
                    case OutputEvent.Content(String content) ->
                        throw new AssertionError("content " + content + " in " + text);
                    case OutputEvent.Reasoning(String reasoning) -> throw new AssertionError(reasoning);
                }
            }
            check(name, arguments.toString(), text);
        }
    }

    @Test
    void aToolWithoutParametersIsCalledWithNone() {
        Tool clock = new Tool("clock", "", "{}", "{}");
        Prompt.Chat chat = new Prompt.Chat(List.of(), List.of(clock), new ToolChoice.Required(), false, Map.of());
        TokenConstraint constraint =
                factory.ofToolChoice(chat, false, false, false).orElseThrow();
        read(constraint, "<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>");
        assertTrue(constraint.finished());
    }

    private static void check(String name, String arguments, String text) {
        TOOLS.stream()
                .filter(tool -> tool.name().equals(name))
                .forEach(tool -> assertTrue(
                        new SchemaValidator(Grammars.json(tool.parametersSchema())).isValid(Grammars.json(arguments)),
                        () -> arguments + " in " + text));
    }

    /** Any allowed token at first; later those that lead out of the call. */
    private static int draw(TokenConstraint constraint, Random random, String text, boolean xml) {
        List<Integer> allowed = new ArrayList<>();
        List<Integer> leading = new ArrayList<>();
        String goal = xml ? "</parameter>" : "\"";
        int done = goal.length() - 1;
        while (!text.endsWith(goal.substring(0, done))) {
            done--;
        }
        for (int token = 0; token < TOKENIZER.vocabularySize(); token++) {
            if (constraint.accepts(token)) {
                allowed.add(token);
                String written = TOKENIZER.decode(token);
                if (token == END || !written.isEmpty() && goal.startsWith(written, done)) {
                    leading.add(token);
                }
            }
        }
        boolean leaves = !leading.isEmpty() && random.nextInt(100) < 20 + text.length() / 2;
        List<Integer> from = leaves ? leading : allowed;
        return from.get(random.nextInt(from.size()));
    }
}
