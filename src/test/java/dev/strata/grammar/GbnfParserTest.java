package dev.strata.grammar;

import static dev.strata.ErrorMessages.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.tokenizer.TokenizerFixtures;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GbnfParserTest {
    private static final GrammarVocabulary VOCABULARY = GrammarVocabulary.of(TokenizerFixtures.strataTiny());

    private static final String ARITHMETIC = """
            # sums of products
            root  ::= expr "=" ws term "\\n"
            expr  ::= term ([-+*/] term)*
            term  ::= ident | num |
                      "(" ws expr ")" ws   # nested
            ident ::= [a-z] [a-z0-9_]* ws
            num   ::= [0-9]{1,3} ws
            ws    ::= [ \\t\\n]*
            """;

    @Test
    void rulesGroupsClassesAndRepetitions() {
        GrammarMachine machine = new GrammarMachine(GbnfParser.parse(ARITHMETIC), VOCABULARY);
        assertTrue(Grammars.accepts(machine, "(a +12)*b_1 = 7\n"));
        assertTrue(Grammars.accepts(machine, "((((x))))=y\n"));
        assertEquals(false, Grammars.accepts(machine, "1234=y\n"));
        assertEquals(false, Grammars.accepts(machine, "(a=y\n"));
    }

    @Test
    void recursionMayBeDeep() {
        GrammarMachine machine = new GrammarMachine(
                GbnfParser.parse("root ::= \"(\" root \")\" | \"x\" list\nlist ::= \"\" | \",\" list"), VOCABULARY);
        assertTrue(Grammars.accepts(machine, "(".repeat(500) + "x" + ",".repeat(500) + ")".repeat(500)));
        assertEquals(false, Grammars.accepts(machine, "(".repeat(500) + "x" + ")".repeat(499)));
    }

    @Test
    void escapesAndNegatedClasses() {
        GrammarMachine machine = new GrammarMachine(
                GbnfParser.parse("root ::= \"\\x41\\u00e9\\\"\" [^\\]a-c]+ .? \"\\U0001F600\"{2}"), VOCABULARY);
        assertTrue(Grammars.accepts(machine, "Aé\"zé😀😀"));
        assertEquals(false, Grammars.accepts(machine, "Aé\"a😀😀"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "x ::= \"a\" ~ no rule \"root\"",
                "root ::= other ~ \"other\" is used but not defined",
                "root ::= \"a ~ line 1: expected",
                "root ::= (\"a\" ~ line 1: expected ')'",
                "root = \"a\" ~ line 1: expected ::=",
                "root ::= root \"a\" | \"b\" ~ left recursion",
                "root ::= \"a\"{5,2} ~ smaller maximum"
            })
    void errorsSayWhere(String grammar, String said) {
        String message =
                messageOf(GrammarException.class, () -> new GrammarMachine(GbnfParser.parse(grammar), VOCABULARY));
        assertTrue(message.contains(said), message);
    }
}
