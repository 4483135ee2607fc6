package dev.strata.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Expressions and grammars drawn at random: the same strings as the JDK's expressions, and for nonsense always a reason. */
class PatternTest {
    private static final GrammarVocabulary VOCABULARY = GrammarVocabulary.of(TokenizerFixtures.strataTiny());
    private static final String[] ATOMS = {
        "a",
        "b",
        "é",
        "\\d",
        "[ab]",
        "[^a]",
        ".",
        "\\w",
        "[a-c1-3]",
        "\\s",
        "[^\\d\\s]",
        "😀",
        "\\.",
        "\"",
        "\\\\",
        "\\p{Lu}",
        "\\n"
    };
    private static final String[] PIECES = {
        "a",
        "é",
        "1",
        "😀",
        "\\",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "+",
        "?",
        "|",
        "^",
        "$",
        ".",
        "-",
        ",",
        ":",
        "=",
        "!",
        "<",
        ">",
        "{2,3}",
        "{2",
        "\\u",
        "\\x4",
        "\\u{1F600}",
        "\\p{L",
        "\\p{sc=Greek}",
        "(?:",
        "(?<n>",
        "[^",
        "\\d",
        "\\",
        "\"",
        "::=",
        "root",
        " ",
        "\n",
        "#",
        "\\U00110000",
        "\\b",
        "\\c",
        "\\k<n>",
        "\\1",
        "9999999999"
    };

    private static String expression(Random random, int depth) {
        StringBuilder text = new StringBuilder();
        int parts = 1 + random.nextInt(3);
        for (int part = 0; part < parts; part++) {
            if (depth > 0 && random.nextInt(3) == 0) {
                text.append("(?:")
                        .append(expression(random, depth - 1))
                        .append(random.nextBoolean() ? "|" + expression(random, depth - 1) : "")
                        .append(')');
            } else {
                text.append(ATOMS[random.nextInt(ATOMS.length)]);
            }
            text.append(new String[] {"", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}?"}[random.nextInt(10)]);
        }
        return text.toString();
    }

    private static GrammarMachine strings(String expression) {
        return Grammars.schema(
                JsonNodeFactory.instance
                        .objectNode()
                        .put("type", "string")
                        .put("pattern", expression)
                        .toString(),
                VOCABULARY);
    }

    @Test
    void expressionsMeanWhatTheyMeanInTheJdk() {
        Random random = new Random(4);
        String[] letters = {"a", "b", "c", "1", "é", "😀", ".", "\"", "\\", "A", " ", "\n"};
        for (int round = 0; round < 400; round++) {
            String expression =
                    (random.nextBoolean() ? "^" : "") + expression(random, 2) + (random.nextBoolean() ? "$" : "");
            GrammarMachine machine = strings(expression);
            // "." leaves out fewer line ends in JavaScript, and "$" stands at the very end.
            java.util.regex.Pattern pattern = java.util.regex.Pattern.compile(
                    expression.replaceAll("\\$$", "\\\\z"), java.util.regex.Pattern.UNICODE_CASE);
            for (int probe = 0; probe < 25; probe++) {
                StringBuilder text = new StringBuilder();
                for (int length = random.nextInt(6); length > 0; length--) {
                    text.append(letters[random.nextInt(letters.length)]);
                }
                String written =
                        JsonNodeFactory.instance.textNode(text.toString()).toString();
                assertEquals(
                        pattern.matcher(text).find(),
                        Grammars.accepts(machine, written),
                        () -> expression + " on " + written);
            }
        }
    }

    @Test
    void nonsenseIsRefusedWithAReason() {
        Random random = new Random(6);
        int refused = 0;
        for (int round = 0; round < 3000; round++) {
            StringBuilder text = new StringBuilder(round % 2 == 0 ? "" : "root ::= ");
            for (int length = 1 + random.nextInt(9); length > 0; length--) {
                text.append(PIECES[random.nextInt(PIECES.length)]);
            }
            try {
                GrammarMachine machine = round % 2 == 0
                        ? strings(text.toString())
                        : new GrammarMachine(GbnfParser.parse(text.toString()), VOCABULARY);
                machine.mask(machine.start());
            } catch (GrammarException reason) {
                assertTrue(!String.valueOf(reason.getMessage()).isBlank(), text::toString);
                refused++;
            } catch (RuntimeException | StackOverflowError broken) {
                throw new AssertionError("broken by " + text, broken);
            }
        }
        assertTrue(refused > 1000, refused + " refused");
    }

    @Test
    void spellingsOfAScriptShareOneSet() {
        assertSame(UnicodeProperties.of("sc=Greek"), UnicodeProperties.of("sc=gREEK"));
    }
}
