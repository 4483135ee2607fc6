package dev.strata.tokenizer;

import static dev.strata.ErrorMessages.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The scanners cut exactly as the regular expressions that define them. */
class PreTokenizerTest {
    private static final String[] BITS = {
        "a",
        "B",
        "z",
        "É",
        "ß",
        "ǅ",
        "ʰ",
        "ª",
        "日",
        "本",
        "ا",
        "ह",
        "ि",
        "\u0301",
        "\u20DD",
        "1",
        "2",
        "٣",
        "½",
        "Ⅷ",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\u00A0",
        "\u2028",
        "\u0085",
        "\u3000",
        "\u000B",
        "\u001C",
        "\u200B",
        "'",
        "'s",
        "'T",
        "'re",
        "'LL",
        "'\u017F",
        "'x",
        ".",
        ",",
        "!",
        "/",
        "_",
        "-",
        "€",
        "∑",
        "😀",
        "𝔘",
        "𝟘",
        "\uD83D",
        "\u0000",
        "👨\u200D👩",
        "don't",
        "It'S",
        "ABCdef",
        "aB",
        "  \n ",
        "\uFFFD"
    };

    @ParameterizedTest
    @ValueSource(
            strings = {
                PreTokenizers.QWEN2,
                PreTokenizers.QWEN35,
                PreTokenizers.LLAMA3,
                PreTokenizers.GPT2,
                PreTokenizers.GPT4O
            })
    void scannersCutAsTheirExpression(String expression) {
        PreTokenizer scanner = PreTokenizers.of(List.of(expression));
        assertTrue(scanner instanceof ScanningPreTokenizer);
        PreTokenizer regex = new RegexPreTokenizer(List.of(expression));
        Random random = new Random(7);
        for (int round = 0; round < 8_000; round++) {
            StringBuilder text = new StringBuilder();
            for (int bits = random.nextInt(1, 12); bits > 0; bits--) {
                text.append(BITS[random.nextInt(BITS.length)]);
            }
            assertEquals(pieces(regex, text.toString()), pieces(scanner, text.toString()), () -> escaped(text));
        }
    }

    @Test
    void everySingleCharacterIsClassifiedAsTheExpressionDoes() {
        for (String expression : List.of(PreTokenizers.QWEN35, PreTokenizers.GPT4O)) {
            PreTokenizer scanner = PreTokenizers.of(List.of(expression));
            PreTokenizer regex = new RegexPreTokenizer(List.of(expression));
            for (int codePoint = 0; codePoint < 0x20000; codePoint++) {
                if (codePoint >= 0xD800 && codePoint < 0xE000) {
                    continue;
                }
                String text = " " + Character.toString(codePoint) + "a" + Character.toString(codePoint) + " ";
                assertEquals(pieces(regex, text), pieces(scanner, text), () -> escaped(text));
            }
        }
    }

    @Test
    void anUnknownNameListsTheKnownOnes() {
        String error = messageOf(ModelFormatException.class, () -> PreTokenizers.named("qwen99", "model.gguf"));
        assertTrue(error.startsWith("model.gguf: tokenizer.ggml.pre is \"qwen99\""), error);
        assertTrue(error.contains("gpt-2, gpt-4o, llama-bpe"), error);
        assertTrue(error.contains("qwen2, qwen35"), error);
    }

    private static List<String> pieces(PreTokenizer preTokenizer, String text) {
        List<String> pieces = new ArrayList<>();
        preTokenizer.split(
                text.toCharArray(),
                0,
                text.length(),
                (units, from, to) -> pieces.add(new String(units, from, to - from)));
        return pieces;
    }

    private static String escaped(CharSequence text) {
        StringBuilder out = new StringBuilder();
        text.chars()
                .forEach(unit -> out.append(
                        unit < 0x7F && unit > 0x1F ? String.valueOf((char) unit) : String.format("\\u%04x", unit)));
        return out.toString();
    }
}
