package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.strata.device.MissShare;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What the kernels of misses.cu do, in Java on a fake device: plan, pull, ask, wait, and guess, most of it right. */
final class FakeMeeting {
    private static final long NEXT_SPARE = 16;
    private static final long GUESS = 20;
    private static final long GUESSES = 24;

    private final MissShare share;
    private final int[] chosen;
    private final int rows;
    private final int[] following;
    private final MissPlan plan = new MissPlan(MissShare.MOST_EXPERTS);

    /** @param following what the next layer will choose */
    FakeMeeting(MissShare share, int[] chosen, int rows, int[] following) {
        this.share = share;
        this.chosen = chosen;
        this.rows = rows;
        this.following = following;
    }

    private static MemorySegment at(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** Whether the processor was asked for the expert in this pass. */
    boolean processorHas(int expert) {
        for (int i = 0; i < plan.processors(); i++) {
            if (plan.processor(i) == expert) {
                return true;
            }
        }
        return false;
    }

    void share() {
        int experts = share.layout().experts();
        MemorySegment table = at(share.table().address(), 8L * experts);
        MemorySegment planned = at(share.planned().address(), 8L * experts);
        boolean[] routed = new boolean[experts];
        for (int expert : chosen) {
            routed[expert] = true;
        }
        int[] pulled = new int[experts];
        find(routed, table, planned, pulled);
        guess();
        int[] shares = {0};
        MissShare.Meeting meeting = share.meeting();
        if (meeting != null) {
            shares = new int[meeting.mostMisses() + 1];
            MemorySegment split = at(meeting.shares().address(), 2L * shares.length);
            for (int i = 0; i < shares.length; i++) {
                shares[i] = split.getAtIndex(JAVA_SHORT, i);
            }
        }
        plan.make(routed, table.toArray(JAVA_LONG), share.cacheAddress(), share.cacheBytes(), shares);
        for (int expert = 0; expert < experts; expert++) {
            if (routed[expert]) {
                planned.setAtIndex(JAVA_LONG, expert, table.getAtIndex(JAVA_LONG, expert));
            }
        }
        MemorySegment state = at(share.state().address(), MissShare.STATE_BYTES);
        int next = state.get(JAVA_INT, NEXT_SPARE);
        int pulling = Math.min(plan.links(), share.spares());
        for (int i = 0; i < pulling; i++) {
            int spare = (next + i) % share.spares();
            pulled[plan.link(i)] = spare + 1;
            long to = share.spareAddress() + spare * share.spareStride();
            long bytes = share.layout().blobBytes();
            MemorySegment.copy(at(table.getAtIndex(JAVA_LONG, plan.link(i)), bytes), 0, at(to, bytes), 0, bytes);
            planned.setAtIndex(JAVA_LONG, plan.link(i), to);
        }
        if (pulling > 0) {
            state.set(JAVA_INT, NEXT_SPARE, (next + pulling) % share.spares());
        }
        for (int i = 0; i < chosen.length && chosen.length <= share.mostNotes(); i++) {
            at(share.notes(), 4L * chosen.length)
                    .setAtIndex(JAVA_INT, i, chosen[i] | pulled[chosen[i]] << MissShare.NOTED_EXPERT_BITS);
        }
        for (int i = 0; i < plan.processors(); i++) {
            planned.setAtIndex(JAVA_LONG, plan.processor(i), 0);
        }
        if (plan.processors() > 0 && meeting != null) {
            ask(meeting.question().host());
        }
    }

    /** What the host has brought for this layer counts as there, once its ticket is. */
    private void find(boolean[] routed, MemorySegment table, MemorySegment planned, int[] pulled) {
        MissShare.Guess guess = share.guess();
        int number = at(share.state().address(), MissShare.STATE_BYTES).get(JAVA_INT, GUESS);
        if (guess == null || number == 0) {
            return;
        }
        for (int i = 0; i < MissShare.MOST_COMING; i++) {
            MemorySegment entry = at(guess.comingAddress() + i * MissShare.ENTRY_BYTES, MissShare.ENTRY_BYTES);
            if ((int) JAVA_INT.varHandle().getAcquire(entry, 12L) != number || entry.get(JAVA_INT, 0) != number) {
                continue;
            }
            int expert = entry.get(JAVA_INT, 4) & 0xffff;
            long inCache = table.getAtIndex(JAVA_LONG, expert) - share.cacheAddress();
            if (routed[expert] && Long.compareUnsigned(inCache, share.cacheBytes()) >= 0) {
                int place = entry.get(JAVA_INT, 4) >>> 16;
                routed[expert] = false;
                pulled[expert] = place + 1;
                planned.setAtIndex(JAVA_LONG, expert, share.spareAddress() + place * share.spareStride());
                int ticket = entry.get(JAVA_INT, 8);
                MemorySegment arrived = at(guess.arrived().address(), 4);
                while ((int) JAVA_INT.varHandle().getAcquire(arrived, 0L) - ticket < 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    private void guess() {
        MissShare.Guess guess = share.guess();
        MemorySegment state = at(share.state().address(), MissShare.STATE_BYTES);
        int number = 0;
        int count = state.get(JAVA_INT, GUESSES) + 1;
        state.set(JAVA_INT, GUESSES, count);
        if (guess != null && guess.layers() > 0 && rows == 1) {
            number = count << MissShare.GUESSED_LAYER_BITS | share.layer() + 1;
            for (int expert = 0; expert < share.layout().experts(); expert++) {
                int chance = expert;
                boolean right = Arrays.stream(following).anyMatch(next -> next == chance);
                int product = Float.floatToIntBits((count * 31 + expert * 17) % 101 + (right ? 70 : 0));
                for (int i = guess.layers() - 1; i >= 0; i--) {
                    MemorySegment one = at(guess.products(i) + 8L * expert, 8);
                    JAVA_LONG.varHandle().setRelease(one, 0L, (long) number << 32 | product);
                }
            }
        }
        state.set(JAVA_INT, GUESS, number);
    }

    private void ask(MemorySegment question) {
        question.set(JAVA_INT, 4, share.layer());
        question.set(JAVA_INT, 8, rows);
        question.set(JAVA_INT, 12, chosen.length / rows);
        question.set(JAVA_INT, 16, plan.processors());
        question.set(JAVA_INT, 20, plan.links());
        for (int i = 0; i < plan.processors(); i++) {
            question.set(JAVA_INT, 64 + 4L * i, plan.processor(i));
        }
        for (int i = 0; i < chosen.length; i++) {
            question.set(JAVA_INT, 64 + 4L * MissShare.MOST_EXPERTS + 4L * i, chosen[i]);
        }
        for (int row = 0; row < rows; row++) {
            question.set(
                    JAVA_FLOAT,
                    MissShare.QUESTION_HEADER + 4L * share.layout().hidden() * row,
                    1000 * share.layer() + row);
        }
        MemorySegment state = at(share.state().address(), 16);
        int number = state.get(JAVA_INT, 0) + 1;
        state.set(JAVA_INT, 0, number);
        JAVA_INT.varHandle().setRelease(question, 0L, number);
    }

    /** Waits for the host and checks what it computed: {@link FakeWorkers} leave expert and row behind. */
    List<String> await() {
        MissShare.Meeting meeting = share.meeting();
        if (meeting == null || plan.processors() == 0) {
            return List.of();
        }
        MemorySegment question = meeting.question().host();
        MemorySegment answer = meeting.answer().host();
        int number = at(share.state().address(), 16).get(JAVA_INT, 0);
        question.set(JAVA_INT, 28, 5_000 * plan.links());
        question.set(JAVA_INT, 24, number);
        while ((int) JAVA_INT.varHandle().getAcquire(answer, 0L) - number < 0) {
            Thread.onSpinWait();
        }
        List<String> wrong = new ArrayList<>();
        int used = chosen.length / rows;
        for (int pair = 0; pair < chosen.length; pair++) {
            if (processorHas(chosen[pair])) {
                float want = FakeWorkers.result(chosen[pair], 1000 * share.layer() + pair / used);
                float found = answer.get(
                        JAVA_FLOAT,
                        MissShare.ANSWER_HEADER + 4L * share.layout().hidden() * pair);
                if (found != want && found != FakeWorkers.FAILED) {
                    wrong.add("layer " + share.layer() + " pair " + pair + " got " + found + " instead of " + want);
                }
            }
        }
        return wrong;
    }
}
