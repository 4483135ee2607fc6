package dev.strata.grammar;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.tokenizer.Tokenizer;
import dev.strata.tokenizer.TokenizerFixtures;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Masks made the short ways are those of the definition, on the whole vocabulary of Qwen3 where it is, otherwise on a part of it. */
class MaskTest {
    private static GrammarVocabulary vocabulary;

    @BeforeAll
    static void readVocabulary() {
        vocabulary = GrammarVocabulary.of(TokenizerFixtures.qwen3().orElseGet(TokenizerFixtures::qwen3Part));
    }

    static List<GrammarBenchmark.Case> cases() {
        return GrammarBenchmark.CASES;
    }

    /** Some states of a whole answer. */
    @ParameterizedTest
    @MethodSource("cases")
    void masksAlongAnAnswerAreExact(GrammarBenchmark.Case one) {
        Random random = new Random(one.name().hashCode());
        GrammarMachine machine = one.machine(vocabulary);
        GrammarMachine.State state = machine.start();
        for (int token : vocabulary.tokenizer().encode(one.answer(), false)) {
            if (random.nextInt(8) == 0) {
                Grammars.check(machine, state, random.nextInt(41), 41);
            }
            state = machine.read(state, vocabulary.tokenizer().bytes(token));
            assertTrue(!state.isDead(), () -> vocabulary.tokenizer().decode(token));
        }
        assertTrue(state.isAccepting());
        Grammars.check(machine, state, 0, 41);
    }

    /** Sets of characters that lead on for ever, come back, change on the way or end after some number. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "root ::= [^\\n]{0,3} \"\\n\"",
                "root ::= [a-zA-Z0-9_-]{1,12} \" \" [^x]*",
                "root ::= [a-zA-Z ]{3} [a-z]{2} [^e]+",
                "root ::= ([^e]* \"e\" [^r]* \"rr\")* \".\"",
                "root ::= ([a-z]+ | [a-z]+ \" \" [A-Za-z\\u00e0-\\u024f\\u4e00-\\u9fff]+)* \"!\"",
                "root ::= [\\u00a0\\u2028\\u3000]{2} [\\U0001F600] \"x\"",
                "root ::= ([a-mA-Z0-9] [a-z])* | [^\\x00-\\x1f]{2,5} [^ ]{2,40}"
            })
    void masksOfRoamingTextsAreExact(String grammar) {
        Random random = new Random(grammar.hashCode());
        GrammarMachine machine = new GrammarMachine(GbnfParser.parse(grammar), vocabulary);
        GrammarMachine.State state = machine.start();
        for (int step = 0; step < 6 && !state.isFinal(); step++) {
            Grammars.check(machine, state, random.nextInt(7), 7);
            state = machine.read(state, randomToken(machine.mask(state), random));
        }
    }

    private static byte[] randomToken(long[] mask, Random random) {
        Tokenizer tokenizer = vocabulary.tokenizer();
        int first = random.nextInt(tokenizer.vocabularySize());
        for (int step = 0; step < tokenizer.vocabularySize(); step++) {
            int token = (first + step) % tokenizer.vocabularySize();
            if ((mask[token >> 6] >>> token & 1) != 0 && !vocabulary.isEnd(token)) {
                return tokenizer.bytes(token);
            }
        }
        throw new AssertionError("no token may follow");
    }
}
