package dev.strata.model;

import dev.strata.device.Batch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Greedy decoding of one sequence with chained drafts, verified in held passes. */
final class DraftingRunner {
    private final Model model;
    private final int most;
    private final double threshold;
    private final int end;
    private final int[] pages;
    private int[] tokens = {};
    private int pending;
    private final DraftedTokens drafted = new DraftedTokens();
    private final int[] drafts = new int[Batch.MAX_WINDOW];
    private int draftCount;

    /**
     * @param most drafts of one pass
     * @param threshold drafting stops before the first draft less probable than this
     * @param end drafting stops after this token
     */
    DraftingRunner(Model model, int most, double threshold, int end) {
        this.model = model;
        this.most = most;
        this.threshold = threshold;
        this.end = end;
        this.pages = IntStream.range(0, model.pages()).toArray();
    }

    /** Runs the prompt and gives the first token of the answer. */
    int start(int[] prompt) {
        model.clearSlot(0);
        tokens = prompt.clone();
        pending = Logits.argmax(forward(batch(tokens, 0, false), new int[] {prompt.length - 1})[0]);
        int[] following = Arrays.copyOfRange(prompt, 1, prompt.length + 1);
        following[prompt.length - 1] = pending;
        follow(0, following);
        return pending;
    }

    /** One verify pass: the accepted drafts and the token after them. */
    List<Integer> step() {
        int[] window = new int[draftCount + 1];
        window[0] = pending;
        System.arraycopy(drafts, 0, window, 1, draftCount);
        Batch batch = batch(window, tokens.length, true);
        float[][] logits = forward(batch, IntStream.range(0, window.length).toArray());
        List<Integer> emitted = new ArrayList<>();
        emitted.add(Logits.argmax(logits[0]));
        while (emitted.size() < window.length && emitted.getLast() == window[emitted.size()]) {
            emitted.add(Logits.argmax(logits[emitted.size()]));
        }
        int count = emitted.size();
        model.commit(batch, 0, count);
        int past = tokens.length;
        tokens = Arrays.copyOf(tokens, past + count);
        System.arraycopy(window, 0, tokens, past, count);
        pending = emitted.getLast();
        follow(past, emitted.stream().mapToInt(Integer::intValue).toArray());
        return emitted;
    }

    /** Shows the draft layer the trunk's states from position {@code past} on with the tokens that follow them, and takes its drafts. */
    private void follow(int past, int[] following) {
        int[] rows = IntStream.range(0, following.length).toArray();
        model.draftAhead(batch(following, past, false), rows, most, (float) threshold, drafted);
        draftCount = 0;
        while (draftCount < drafted.made() && drafted.probability(0, draftCount) >= threshold) {
            drafts[draftCount] = drafted.token(0, draftCount);
            draftCount++;
            if (drafts[draftCount - 1] == end) {
                return;
            }
        }
    }

    private float[][] forward(Batch batch, int[] rows) {
        int vocabulary = model.config().vocabulary();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(Math.max(64, 4L * vocabulary * rows.length), 64);
            model.forward(batch, rows, logits);
            return LogitsRunner.split(logits, rows.length, vocabulary);
        }
    }

    private Batch batch(int[] added, int past, boolean hold) {
        int[] history = Arrays.copyOf(tokens, Math.min(past, tokens.length));
        return new Batch(added, List.of(new Batch.Segment(0, added.length, past, pages, 0, history)), hold);
    }
}
