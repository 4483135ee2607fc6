package dev.strata.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One page of a cached text: up to a page of tokens that follow the parent's, and the page that holds their keys and values. Only a full
 * node has children.
 */
final class PrefixNode {
    final @Nullable PrefixNode parent;
    /** Position of the first token. */
    final int start;

    final List<PrefixNode> children = new ArrayList<>(1);
    final List<Checkpoint> checkpoints = new ArrayList<>(1);
    int[] tokens;
    int page;
    long lastUsed;

    PrefixNode(@Nullable PrefixNode parent, int start, int[] tokens, int page) {
        this.parent = parent;
        this.start = start;
        this.tokens = tokens;
        this.page = page;
    }

    int end() {
        return start + tokens.length;
    }

    /** How many of this node's tokens are those of {@code text} from {@link #start} on, looking no further than {@code limit}. */
    int common(int[] text, int limit) {
        int length = Math.min(tokens.length, limit - start);
        int mismatch = Arrays.mismatch(tokens, 0, length, text, start, start + length);
        return mismatch < 0 ? length : mismatch;
    }

    /** The recurrent states after the first {@code position} tokens of the text that ends in {@code node}, kept in {@code slot}. */
    static final class Checkpoint {
        final PrefixNode node;
        final int position;
        final int slot;
        /** The end of a system prompt: other conversations will begin with it. */
        final boolean root;

        long lastUsed;
        /** Requests that still need it. */
        int pins;

        Checkpoint(PrefixNode node, int position, int slot, boolean root, long lastUsed) {
            this.node = node;
            this.position = position;
            this.slot = slot;
            this.root = root;
            this.lastUsed = lastUsed;
        }
    }
}
