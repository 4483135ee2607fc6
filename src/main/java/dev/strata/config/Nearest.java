package dev.strata.config;

import java.util.Collection;
import java.util.Optional;

/** Finds the known word that a mistyped one was meant to be. */
public final class Nearest {
    private Nearest() {}

    /** The known word with the fewest single-character edits, empty when none comes near (more than half of the letters differ). */
    public static Optional<String> to(String word, Collection<String> known) {
        String best = null;
        int bestDistance = Math.max(2, word.length() / 2) + 1;
        for (String candidate : known) {
            int distance = distance(word, candidate);
            if (distance < bestDistance) {
                bestDistance = distance;
                best = candidate;
            }
        }
        return Optional.ofNullable(best);
    }

    /** Edit distance with insertions, deletions and substitutions. */
    static int distance(String left, String right) {
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                int above = row[j];
                int substituted = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(substituted, Math.min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }
        return row[right.length()];
    }
}
