package dev.strata.tokenizer;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Measures the speed of the Qwen3 tokenizer on one thread. Run its main method; arguments: a text file (else generated words). */
public final class TokenizerBenchmark {
    private TokenizerBenchmark() {}

    public static void main(String[] arguments) throws Exception {
        long start = System.nanoTime();
        Tokenizer tokenizer = TokenizerFixtures.qwen3().orElseThrow();
        System.out.printf("load %.0f ms%n", (System.nanoTime() - start) / 1e6);
        String text = arguments.length > 0
                ? java.nio.file.Files.readString(java.nio.file.Path.of(arguments[0]))
                : words(tokenizer);
        for (int round = 0; round < 12; round++) {
            start = System.nanoTime();
            int tokens = tokenizer.encode(text, false).length;
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.printf(
                    "%d characters, %d tokens, %.2f M tokens/s%n", text.length(), tokens, tokens / seconds / 1e6);
        }
    }

    /** Words of the vocabulary in a Zipf-like order, so that the cache meets rare words too. */
    private static String words(Tokenizer tokenizer) {
        List<String> words = new ArrayList<>();
        for (int id = 0; id < 60_000; id++) {
            String word = tokenizer.decode(id);
            if (word.matches(" [a-z]+")) {
                words.add(word);
            }
        }
        Random random = new Random(5);
        StringBuilder text = new StringBuilder();
        for (int count = 0; count < 400_000; count++) {
            text.append(words.get((int) (words.size() * Math.pow(random.nextDouble(), 4))));
            if (random.nextInt(12) == 0) {
                text.append(random.nextBoolean() ? "," : ".\n");
            }
        }
        return text.toString();
    }
}
