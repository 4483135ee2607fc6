package dev.strata.engine;

import dev.strata.device.Batch;
import dev.strata.engine.PrefixNode.Checkpoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Texts whose keys and values are still in pages, as a tree of pages. Models with recurrent layers can go on only where a checkpoint of
 * their states was kept, others anywhere. Knows no model: it holds pages and slots by number. Used by one thread.
 *
 * <p>What is used least recently goes first, with two exceptions: the newest checkpoint of a system prompt stays, and a request never
 * pushes out longer texts that were used lately, unless pages are needed to run at all. States on the way to later ones of the same text may go.
 */
final class PrefixTree {
    /** A text counts as live for this many matches after its last use. */
    private static final long LIVE = 64;

    private final PageAllocator pages;
    private final SlotAllocator slots;
    private final boolean recurrent;
    private final PrefixNode root = new PrefixNode(null, 0, new int[0], -1);
    private final List<Checkpoint> checkpoints = new ArrayList<>();
    private long tick;
    private int nodes;

    PrefixTree(PageAllocator pages, SlotAllocator slots, boolean recurrent) {
        this.pages = pages;
        this.slots = slots;
        this.recurrent = recurrent;
    }

    /**
     * What can be reused of a text.
     *
     * @param length tokens that need not be read again
     * @param pages the full pages of them, held for the caller
     * @param copyFrom the page that holds the tokens behind the full pages, held for the caller, to be copied; -1: there are none
     * @param checkpoint the states to begin with; null for models without any, and when {@code length} is 0
     */
    record Match(
            int length, int[] pages, int copyFrom, @Nullable Checkpoint checkpoint) {
        static final Match NONE = new Match(0, new int[0], -1, null);
    }

    /** Finds the longest reusable beginning of {@code text}, at most {@code limit} tokens. */
    Match match(int[] text, int limit) {
        tick++;
        PrefixNode bestNode = null;
        Checkpoint best = null;
        int bestLength = 0;
        PrefixNode node = root;
        while (node != null) {
            PrefixNode next = null;
            for (PrefixNode child : node.children) {
                int common = child.common(text, limit);
                if (!recurrent && child.start + common > bestLength) {
                    bestLength = child.start + common;
                    bestNode = child;
                }
                for (Checkpoint checkpoint : child.checkpoints) {
                    if (checkpoint.position <= child.start + common && checkpoint.position > bestLength) {
                        bestLength = checkpoint.position;
                        bestNode = child;
                        best = checkpoint;
                    }
                }
                if (common == Batch.PAGE) {
                    next = child;
                }
            }
            node = next;
        }
        return bestNode == null ? Match.NONE : take(bestNode, bestLength, best);
    }

    private Match take(PrefixNode node, int length, @Nullable Checkpoint checkpoint) {
        int[] full = new int[length / Batch.PAGE];
        int copyFrom = -1;
        touch(node);
        if (checkpoint != null) {
            checkpoint.lastUsed = tick;
        }
        for (PrefixNode each = node; each != null && each != root; each = each.parent) {
            int index = each.start / Batch.PAGE;
            pages.retain(each.page);
            if (index < full.length) {
                full[index] = each.page;
            } else {
                copyFrom = each.page;
            }
        }
        return new Match(length, full, copyFrom, checkpoint);
    }

    private void touch(PrefixNode node) {
        for (PrefixNode each = node; each != null; each = each.parent) {
            each.lastUsed = tick;
        }
    }

    /**
     * Adds the first {@code length} tokens of {@code text}, which lie in {@code textPages}; the tree holds the pages that it did not have.
     * The owner of the last, partly filled page may go on writing behind those tokens; everybody else copies it first.
     *
     * @return the node of the last token; null for an empty text
     */
    @Nullable
    PrefixNode insert(int[] text, int length, int[] textPages) {
        PrefixNode node = root;
        for (int start = 0; start < length; start += Batch.PAGE) {
            node = child(node, start, Arrays.copyOfRange(text, start, Math.min(length, start + Batch.PAGE)), textPages);
        }
        touch(node);
        return node == root ? null : node;
    }

    private PrefixNode child(PrefixNode parent, int start, int[] tokens, int[] textPages) {
        int page = textPages[start / Batch.PAGE];
        for (PrefixNode child : parent.children) {
            int shorter = Math.min(child.tokens.length, tokens.length);
            if (Arrays.equals(child.tokens, 0, shorter, tokens, 0, shorter)) {
                if (child.tokens.length < tokens.length) {
                    child.tokens = tokens;
                    if (child.page != page) {
                        pages.retain(page);
                        pages.release(child.page);
                        child.page = page;
                    }
                }
                return child;
            }
        }
        PrefixNode child = new PrefixNode(parent, start, tokens, page);
        pages.retain(page);
        parent.children.add(child);
        nodes++;
        return child;
    }

    /** The checkpoint at a position, when one is there already. */
    @Nullable
    Checkpoint checkpoint(PrefixNode node, int position) {
        for (Checkpoint checkpoint : node.checkpoints) {
            if (checkpoint.position == position) {
                return checkpoint;
            }
        }
        return null;
    }

    /** Keeps the states in {@code slot}, which the tree owns from now on, as those after {@code position} tokens. */
    Checkpoint keep(PrefixNode node, int position, int slot, boolean systemPrompt) {
        Checkpoint checkpoint = new Checkpoint(node, position, slot, systemPrompt, tick);
        node.checkpoints.add(checkpoint);
        checkpoints.add(checkpoint);
        return checkpoint;
    }

    int checkpoints() {
        return checkpoints.size();
    }

    int nodes() {
        return nodes;
    }

    /**
     * Gives up the least useful checkpoint for a request over {@code requester} tokens.
     *
     * @return whether one was given up
     */
    boolean dropCheckpoint(int requester) {
        Checkpoint stays = newestRoot();
        Set<Checkpoint> covered = covered();
        Checkpoint oldest = null;
        for (Checkpoint checkpoint : checkpoints) {
            boolean live = checkpoint.position > requester && isLive(checkpoint.node) && !covered.contains(checkpoint);
            if (checkpoint.pins == 0
                    && checkpoint != stays
                    && !live
                    && (oldest == null || checkpoint.lastUsed < oldest.lastUsed)) {
                oldest = checkpoint;
            }
        }
        if (oldest == null) {
            return false;
        }
        drop(oldest);
        prune(oldest.node);
        return true;
    }

    /** Checkpoints on the way to later ones: without them a text begins a little earlier, but it is not lost. */
    private Set<Checkpoint> covered() {
        Set<Checkpoint> covered = new HashSet<>();
        for (Checkpoint end : checkpoints) {
            for (PrefixNode node = end.node; node != null; node = node.parent) {
                for (Checkpoint checkpoint : node.checkpoints) {
                    if (checkpoint.position < end.position) {
                        covered.add(checkpoint);
                    }
                }
            }
        }
        return covered;
    }

    private boolean isLive(PrefixNode node) {
        return tick - node.lastUsed < LIVE;
    }

    /**
     * Gives up one page's text for a request over {@code requester} tokens: others' longer live texts and the newest system prompt last.
     * Pages that a sequence holds too do not become free by it.
     *
     * @return whether a text was given up
     */
    boolean dropPage(int requester) {
        Checkpoint stays = newestRoot();
        PrefixNode system = stays == null ? null : stays.node;
        PrefixNode oldest = oldestLeaf(leaf -> leaf != system && !(leaf.end() > requester && isLive(leaf)));
        if (oldest == null) {
            oldest = oldestLeaf(leaf -> leaf != system);
        }
        if (oldest == null) {
            oldest = oldestLeaf(leaf -> true);
        }
        if (oldest == null) {
            return false;
        }
        remove(oldest);
        return true;
    }

    /** Gives everything back. */
    void clear() {
        while (true) {
            PrefixNode leaf = oldestLeaf(each -> true);
            if (leaf == null) {
                return;
            }
            remove(leaf);
        }
    }

    private @Nullable Checkpoint newestRoot() {
        Checkpoint newest = null;
        for (Checkpoint checkpoint : checkpoints) {
            if (checkpoint.root && (newest == null || checkpoint.lastUsed > newest.lastUsed)) {
                newest = checkpoint;
            }
        }
        return newest;
    }

    private @Nullable PrefixNode oldestLeaf(Predicate<PrefixNode> allowed) {
        return oldestLeaf(root, allowed, null);
    }

    private static @Nullable PrefixNode oldestLeaf(
            PrefixNode node, Predicate<PrefixNode> allowed, @Nullable PrefixNode best) {
        PrefixNode oldest = best;
        for (PrefixNode child : node.children) {
            if (!child.children.isEmpty()) {
                oldest = oldestLeaf(child, allowed, oldest);
            } else if (!pinned(child) && (oldest == null || child.lastUsed < oldest.lastUsed) && allowed.test(child)) {
                oldest = child;
            }
        }
        return oldest;
    }

    private static boolean pinned(PrefixNode node) {
        for (Checkpoint checkpoint : node.checkpoints) {
            if (checkpoint.pins > 0) {
                return true;
            }
        }
        return false;
    }

    private void remove(PrefixNode leaf) {
        for (Checkpoint checkpoint : List.copyOf(leaf.checkpoints)) {
            drop(checkpoint);
        }
        PrefixNode parent = leaf.parent;
        if (parent != null) {
            parent.children.remove(leaf);
            pages.release(leaf.page);
            nodes--;
            prune(parent);
        }
    }

    private void drop(Checkpoint checkpoint) {
        checkpoint.node.checkpoints.remove(checkpoint);
        checkpoints.remove(checkpoint);
        slots.release(checkpoint.slot);
    }

    /** With recurrent layers a text is worth nothing behind its last checkpoint. */
    private void prune(PrefixNode node) {
        if (recurrent && node != root && node.children.isEmpty() && node.checkpoints.isEmpty()) {
            remove(node);
        }
    }
}
