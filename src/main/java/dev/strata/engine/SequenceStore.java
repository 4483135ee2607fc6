package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.engine.PrefixNode.Checkpoint;
import dev.strata.model.Model;
import org.jspecify.annotations.Nullable;

/** Where sequences lie in the model: their pages and slots, and the cached texts that they begin with and leave behind. */
final class SequenceStore {
    private final Model model;
    private final PageAllocator pages;
    private final SlotAllocator slots;
    private final PrefixTree tree;
    private final boolean recurrent;
    private final int mostCheckpoints;

    /**
     * @param mostCheckpoints recurrent states that may be kept beside those of running sequences
     */
    SequenceStore(Model model, boolean recurrent, int mostCheckpoints) {
        this.model = model;
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
        if (mostCheckpoints == 0
                || (tree.checkpoints() >= mostCheckpoints && !tree.dropCheckpoint(sequence.length()))) {
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

    /** Takes the sequence out of the model. */
    void release(Sequence sequence) {
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
