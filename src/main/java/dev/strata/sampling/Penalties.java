package dev.strata.sampling;

/**
 * Presence, frequency and repetition penalties of one answer. Presence and frequency count the answer's own tokens, repetition those of
 * prompt and answer; all of them look back over the same window.
 */
final class Penalties {
    private final SamplingSettings settings;
    private final TokenCounts answer = new TokenCounts();
    private final TokenCounts everything = new TokenCounts();
    private int[] history = new int[256];
    private int length;
    private int promptLength;

    Penalties(SamplingSettings settings) {
        this.settings = settings;
    }

    void prompt(int[] tokens) {
        for (int token : tokens) {
            push(token);
        }
        promptLength = length;
    }

    void accept(int token) {
        push(token);
        answer.add(token);
        int window = settings.penaltyWindow();
        int left = length - 1 - window;
        if (window > 0 && left >= promptLength) {
            answer.remove(history[left]);
        }
    }

    void apply(float[] logits) {
        float repetition = settings.repetitionPenalty();
        if (repetition != 1) {
            for (int place = 0; place < everything.places(); place++) {
                if (everything.countAt(place) > 0) {
                    int token = everything.idAt(place);
                    logits[token] = logits[token] > 0 ? logits[token] / repetition : logits[token] * repetition;
                }
            }
        }
        if (settings.presencePenalty() != 0 || settings.frequencyPenalty() != 0) {
            for (int place = 0; place < answer.places(); place++) {
                int count = answer.countAt(place);
                if (count > 0) {
                    logits[answer.idAt(place)] -= settings.presencePenalty() + count * settings.frequencyPenalty();
                }
            }
        }
    }

    private void push(int token) {
        if (length == history.length) {
            history = java.util.Arrays.copyOf(history, length * 2);
        }
        history[length++] = token;
        everything.add(token);
        int window = settings.penaltyWindow();
        if (window > 0 && length > window) {
            everything.remove(history[length - 1 - window]);
        }
    }
}
