package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.engine.PrefixNode.Checkpoint;
import dev.strata.model.Model;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where sequences lie in the model: their pages and slots, and the cached texts that they begin with and leave behind. */
final class SequenceStore {
    private final Model model;
    private final PageAllocator pages;
    private final SlotAllocator slots;
    private final PrefixTree tree;
    private final Places places;
    private final boolean recurrent;
    private final int mostCheckpoints;
    /** Slots of checkpoints that are being read from files. */
    private int arriving;

    /**
     * @param mostCheckpoints recurrent states that may be kept beside those of running sequences
     */
    SequenceStore(Model model, boolean recurrent, int mostCheckpoints, int parallel) {
        this.model = model;
        places = new Places(parallel);
        this.recurrent = recurrent;
        this.mostCheckpoints = mostCheckpoints;
        pages = new PageAllocator(model.pages());
        slots = new SlotAllocator(model.slots());
        tree = new PrefixTree(pages, slots, recurrent);
    }

    /** Gives the sequence a slot and what is cached of its beginning; {@link Sequence#past} says how much that is. */
    void begin(Sequence sequence, boolean useCache) {
        sequence.slot = slots.take();
        sequence.past = 0;
        PrefixTree.Match match =
                useCache ? tree.match(sequence.tokens(), sequence.length() - 1) : PrefixTree.Match.NONE;
        for (int page : match.pages()) {
            sequence.addPage(page);
        }
        if (match.copyFrom() >= 0) {
            int copy = takePage(sequence.length());
            if (copy >= 0) {
                model.copyPage(match.copyFrom(), copy);
                sequence.addPage(copy);
            }
            pages.release(match.copyFrom());
            if (copy < 0) {
                // The rest of the match needs that page: begin anew instead of in the middle.
                releasePages(sequence);
                match = PrefixTree.Match.NONE;
            }
        }
        Checkpoint checkpoint = match.checkpoint();
        if (checkpoint != null) {
            model.copySlot(checkpoint.slot, sequence.slot);
        } else {
            model.clearSlot(sequence.slot);
        }
        sequence.past = match.length();
        sequence.reused = match.length();
    }

    /**
     * Makes the sequence's pages reach {@code positions}, giving up cached texts where needed.
     *
     * @return false when there are not enough pages; those that there were have been added
     */
    boolean reach(Sequence sequence, int positions) {
        while (sequence.pageCount * (long) Batch.PAGE < positions) {
            int page = takePage(sequence.length());
            if (page < 0) {
                return false;
            }
            sequence.addPage(page);
        }
        return true;
    }

    private int takePage(int requester) {
        int page = pages.take();
        while (page < 0 && tree.dropPage(requester)) {
            page = pages.take();
        }
        return page;
    }

    /**
     * Keeps what the model has of the sequence for later ones.
     *
     * @param systemPrompt whether it is a system prompt up to here
     * @return the checkpoint, null when none was needed or there was no room
     */
    @Nullable
    Checkpoint keep(Sequence sequence, boolean systemPrompt) {
        int position = sequence.past;
        if (position == 0) {
            return null;
        }
        if (!recurrent) {
            tree.insert(sequence.tokens(), position, sequence.pages);
            return null;
        }
        if (!roomForCheckpoint(sequence.length())) {
            return null;
        }
        PrefixNode node = tree.insert(sequence.tokens(), position, sequence.pages);
        if (node == null) {
            return null;
        }
        Checkpoint known = tree.checkpoint(node, position);
        if (known != null) {
            known.lastUsed = node.lastUsed;
            return known;
        }
        int slot = slots.take();
        model.copySlot(sequence.slot, slot);
        return tree.keep(node, position, slot, systemPrompt);
    }

    private boolean roomForCheckpoint(int requester) {
        return mostCheckpoints > arriving
                && (tree.checkpoints() + arriving < mostCheckpoints || tree.dropCheckpoint(requester));
    }

    /** Holds the longest beginning of {@code text} that is cached; its length may be 0. Give it back with {@link #letGo}. */
    HeldPrefix hold(int[] text) {
        PrefixTree.Match match = tree.match(text, text.length);
        int full = match.pages().length;
        int[] held = Arrays.copyOf(match.pages(), match.copyFrom() < 0 ? full : full + 1);
        if (match.copyFrom() >= 0) {
            held[full] = match.copyFrom();
        }
        List<HeldPrefix.State> states = new ArrayList<>();
        Checkpoint last = match.checkpoint();
        for (PrefixNode node = last == null ? null : last.node; node != null; node = node.parent) {
            for (Checkpoint checkpoint : node.checkpoints) {
                if (checkpoint.position <= match.length()) {
                    checkpoint.pins++;
                    states.add(new HeldPrefix.State(checkpoint.position, checkpoint.root, checkpoint.slot, checkpoint));
                }
            }
        }
        states.sort(Comparator.comparingInt(HeldPrefix.State::position).reversed());
        return new HeldPrefix(match.length(), held, states);
    }

    /**
     * Makes room for {@code length} tokens that come from a file; the caller fills it, then calls {@link #adopt} or {@link #letGo}.
     *
     * @param states positions of states, longest first, without slots; the later ones may get none
     * @return nothing when there is not enough room
     */
    Optional<HeldPrefix> room(int length, List<HeldPrefix.State> states) {
        int[] taken = new int[(length + Batch.PAGE - 1) / Batch.PAGE];
        for (int i = 0; i < taken.length; i++) {
            taken[i] = takePage(length);
            if (taken[i] < 0) {
                for (int j = 0; j < i; j++) {
                    pages.release(taken[j]);
                }
                return Optional.empty();
            }
        }
        List<HeldPrefix.State> placed = new ArrayList<>();
        for (HeldPrefix.State state : states) {
            int slot = -1;
            if (roomForCheckpoint(length)) {
                slot = slots.take();
                arriving++;
            }
            placed.add(new HeldPrefix.State(state.position(), state.root(), slot, null));
        }
        HeldPrefix prefix = new HeldPrefix(length, taken, placed);
        if (recurrent && placed.getFirst().slot() < 0) {
            letGo(prefix);
            return Optional.empty();
        }
        return Optional.of(prefix);
    }

    /** Adds a text that came from a file to the cache. */
    void adopt(int[] text, HeldPrefix prefix) {
        if (!recurrent) {
            tree.insert(text, prefix.length(), prefix.pages());
        }
        for (HeldPrefix.State state : prefix.states()) {
            if (state.slot() < 0) {
                continue;
            }
            arriving--;
            PrefixNode node = tree.insert(text, state.position(), prefix.pages());
            if (node == null || tree.checkpoint(node, state.position()) != null) {
                slots.release(state.slot());
            } else {
                tree.keep(node, state.position(), state.slot(), state.root());
            }
        }
        for (int page : prefix.pages()) {
            pages.release(page);
        }
    }

    void letGo(HeldPrefix prefix) {
        for (int page : prefix.pages()) {
            pages.release(page);
        }
        for (HeldPrefix.State state : prefix.states()) {
            Checkpoint checkpoint = state.checkpoint();
            if (checkpoint != null) {
                checkpoint.pins--;
            } else if (state.slot() >= 0) {
                slots.release(state.slot());
                arriving--;
            }
        }
    }

    /** Takes the sequence out of the model and its place. */
    void release(Sequence sequence) {
        places.leave(sequence);
        releasePages(sequence);
        if (sequence.hasSlot()) {
            slots.release(sequence.slot);
            sequence.dropSlot();
        }
        sequence.past = 0;
        sequence.draftCount = 0;
    }

    private void releasePages(Sequence sequence) {
        for (int i = 0; i < sequence.pageCount; i++) {
            pages.release(sequence.pages[i]);
        }
        sequence.pageCount = 0;
    }

    /** Whether texts need states beside their pages. */
    boolean recurrent() {
        return recurrent;
    }

    Places places() {
        return places;
    }

    PrefixTree tree() {
        return tree;
    }

    PageAllocator pages() {
        return pages;
    }

    SlotAllocator slots() {
        return slots;
    }
}
