package dev.strata.tokenizer;

import dev.strata.format.ModelFormatException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The pre-tokenizers that are known: by the name of {@code tokenizer.ggml.pre}, and by the expression of {@code tokenizer.json}. */
final class PreTokenizers {
    static final String QWEN2 =
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static final String QWEN35 =
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static final String LLAMA3 =
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static final String GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    static final String GPT4O =
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                    + "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                    + "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    private static final List<String> DEEPSEEK_V3 = List.of(
            "\\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                    + "| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");

    /** What a pre-tokenizer's name says: the pattern, and whether a piece that is a token as a whole is taken without merging. */
    record Known(PreTokenizer preTokenizer, boolean ignoreMerges) {}

    private PreTokenizers() {}

    private static Map<String, List<String>> expressionsByName() {
        Map<String, List<String>> names = new TreeMap<>();
        names.put("qwen2", List.of(QWEN2));
        names.put("deepseek-r1-qwen", List.of(QWEN2));
        names.put("qwen35", List.of(QWEN35));
        names.put("llama-bpe", List.of(LLAMA3));
        names.put("glm4", List.of(LLAMA3));
        names.put("gpt-2", List.of(GPT2));
        names.put("olmo", List.of(GPT2));
        names.put("gpt-4o", List.of(GPT4O));
        names.put("minimax-m2", List.of(GPT4O));
        names.put("deepseek-v3", DEEPSEEK_V3);
        return names;
    }

    /** By the name in {@code tokenizer.ggml.pre}. */
    static Known named(String name, String source) {
        List<String> expressions = expressionsByName().get(name);
        if (expressions == null) {
            throw new ModelFormatException(source + ": tokenizer.ggml.pre is \"" + name
                    + "\", a pre-tokenizer that is not known. Known are "
                    + String.join(", ", expressionsByName().keySet()) + ".");
        }
        return new Known(of(expressions), name.equals("llama-bpe") || name.equals("gpt-4o"));
    }

    /** By the expressions themselves; unusual ones work too, but slower. */
    static PreTokenizer of(List<String> expressions) {
        if (expressions.size() == 1) {
            switch (expressions.getFirst()) {
                case QWEN2 -> {
                    return new WordPreTokenizer(false, 1);
                }
                case QWEN35 -> {
                    return new WordPreTokenizer(true, 1);
                }
                case LLAMA3 -> {
                    return new WordPreTokenizer(false, 3);
                }
                case GPT2 -> {
                    return new Gpt2PreTokenizer();
                }
                case GPT4O -> {
                    return new Gpt4oPreTokenizer();
                }
                default -> {
                    return new RegexPreTokenizer(expressions);
                }
            }
        }
        return new RegexPreTokenizer(expressions);
    }
}
