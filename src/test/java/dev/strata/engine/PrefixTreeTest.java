package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Batch;
import dev.strata.engine.PrefixNode.Checkpoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PrefixTreeTest {
    private final PageAllocator pages = new PageAllocator(40);
    private final SlotAllocator slots = new SlotAllocator(10);
    private final PrefixTree tree = new PrefixTree(pages, slots, true);

    private static int[] text(int length, int seed) {
        int[] text = new int[length];
        for (int i = 0; i < length; i++) {
            text[i] = i * 7 + seed;
        }
        return text;
    }

    private int[] take(int length) {
        int[] taken = new int[(length + Batch.PAGE - 1) / Batch.PAGE];
        Arrays.setAll(taken, i -> pages.take());
        return taken;
    }

    private void release(int... held) {
        for (int page : held) {
            pages.release(page);
        }
    }

    /** Caches a text with a checkpoint at its end and lets go of its pages. */
    private Checkpoint cache(int[] text, boolean system) {
        int[] own = take(text.length);
        PrefixNode node = tree.insert(text, text.length, own);
        assertNotNull(node);
        Checkpoint checkpoint = tree.keep(node, text.length, slots.take(), system);
        release(own);
        return checkpoint;
    }

    private int matched(int[] text) {
        PrefixTree.Match match = tree.match(text, text.length - 1);
        release(match.pages());
        if (match.copyFrom() >= 0) {
            release(match.copyFrom());
        }
        return match.length();
    }

    @Test
    void aTextIsFoundUpToItsCheckpointOnly() {
        int[] text = text(100, 1);
        cache(text, false);
        assertEquals(100, matched(text(150, 1)));
        assertEquals(0, matched(text), "the last token has to be read, and there is no checkpoint before it");
        int[] other = text(150, 1);
        other[99] = -1;
        assertEquals(0, matched(other));
        assertEquals(2, pages.total() - pages.free());
    }

    @Test
    void aMatchHoldsFullPagesAndNamesTheOneToCopy() {
        int[] text = text(200, 1);
        cache(text, false);
        PrefixTree.Match match = tree.match(text(300, 1), 299);
        assertEquals(200, match.length());
        assertEquals(3, match.pages().length);
        assertTrue(match.copyFrom() >= 0);
        for (int page : match.pages()) {
            assertEquals(2, pages.holders(page));
        }
    }

    @Test
    void aCheckpointAtAPagesEndNeedsNoCopy() {
        cache(text(128, 1), false);
        PrefixTree.Match match = tree.match(text(300, 1), 299);
        assertEquals(128, match.length());
        assertEquals(-1, match.copyFrom());
    }

    @Test
    void growingTextsShareNodesAndBranchesPart() {
        cache(text(100, 1), false);
        cache(text(120, 1), false);
        assertEquals(2, tree.nodes());
        int[] branch = text(140, 1);
        branch[110] = -5;
        cache(branch, false);
        assertEquals(4, tree.nodes(), "the first page is shared, the second parts, the branch has a third");
        assertEquals(120, matched(text(130, 1)));
        int[] longer = Arrays.copyOf(branch, 150);
        assertEquals(140, matched(longer));
        assertEquals(3, tree.checkpoints());
    }

    @Test
    void modelsWithoutStatesMatchAnywhere() {
        PrefixTree plain = new PrefixTree(pages, slots, false);
        int[] own = take(100);
        plain.insert(text(100, 1), 100, own);
        int[] other = text(100, 1);
        other[77] = -1;
        PrefixTree.Match match = plain.match(other, 99);
        assertEquals(77, match.length());
        assertArrayEquals(new int[] {own[0]}, match.pages());
        assertEquals(own[1], match.copyFrom());
        assertNull(match.checkpoint());
    }

    @Test
    void theLeastRecentlyUsedGoesFirst() {
        cache(text(70, 1), false);
        cache(text(70, 2), false);
        matched(text(80, 1));
        assertTrue(tree.dropCheckpoint(1000));
        assertEquals(70, matched(text(80, 1)));
        assertEquals(0, matched(text(80, 2)));
        assertEquals(2, pages.total() - pages.free(), "pages behind the last checkpoint are worth nothing");
    }

    @Test
    void theNewestSystemPromptStays() {
        cache(text(70, 1), true);
        cache(text(70, 2), false);
        assertTrue(tree.dropCheckpoint(1000));
        assertFalse(tree.dropCheckpoint(1000));
        assertEquals(70, matched(text(80, 1)));
    }

    @Test
    void aShortRequestDoesNotPushOutALongerLiveText() {
        cache(text(500, 1), false);
        cache(text(30, 2), false);
        cache(text(30, 3), false);
        matched(text(40, 2));
        matched(text(40, 3));
        assertTrue(tree.dropCheckpoint(40));
        assertTrue(tree.dropCheckpoint(40));
        assertFalse(tree.dropCheckpoint(40), "only the long text is left");
        assertTrue(tree.dropCheckpoint(600), "a longer request may");
    }

    @Test
    void aShortRequestPushesOutNoneOfSeveralConversations() {
        int[] first = text(500, 1);
        int[] second = text(400, 2);
        int[] own = take(500);
        PrefixNode middle = tree.insert(first, 128, own);
        assertNotNull(middle);
        tree.keep(middle, 128, slots.take(), false);
        PrefixNode end = tree.insert(first, 500, own);
        assertNotNull(end);
        tree.keep(end, 500, slots.take(), false);
        release(own);
        cache(second, false);
        assertTrue(tree.dropCheckpoint(40), "states on the way to later ones may go");
        assertFalse(tree.dropCheckpoint(40));
        assertEquals(500, matched(text(600, 1)));
        assertEquals(400, matched(text(600, 2)));
        for (int i = 0; i < 64; i++) {
            matched(text(600, 2));
        }
        assertTrue(tree.dropCheckpoint(40), "the first one has not been used for long");
        assertEquals(400, matched(text(600, 2)));
    }

    @Test
    void theSystemPromptOutlivesLiveTextsWhenPagesAreShort() {
        cache(text(70, 1), true);
        cache(text(500, 2), false);
        for (int i = 0; i < 70; i++) {
            matched(text(600, 2));
        }
        assertTrue(tree.dropPage(40));
        assertEquals(0, matched(text(600, 2)));
        assertEquals(70, matched(text(80, 1)));
        assertTrue(tree.dropPage(40));
        assertEquals(0, pages.heldInAll());
    }

    @Test
    void pagesOfTheLongTextGoLast() {
        cache(text(500, 1), false);
        cache(text(30, 2), false);
        matched(text(40, 2));
        assertTrue(tree.dropPage(40));
        assertEquals(500, matched(text(600, 1)));
        assertTrue(tree.dropPage(40), "when nothing else is left it has to go");
        assertEquals(0, matched(text(600, 1)));
        assertFalse(tree.dropPage(40));
        assertEquals(0, pages.heldInAll());
    }

    @Test
    void pinnedCheckpointsStay() {
        Checkpoint checkpoint = cache(text(70, 1), false);
        checkpoint.pins++;
        assertFalse(tree.dropCheckpoint(1000));
        assertFalse(tree.dropPage(1000));
        checkpoint.pins--;
        assertTrue(tree.dropCheckpoint(1000));
    }

    /** Random texts over a small alphabet; a plain map of all checkpoints is the oracle. */
    @Test
    void agreesWithAListOfAllCheckpoints() {
        Random random = new Random(11);
        for (int round = 0; round < 30; round++) {
            PageAllocator manyPages = new PageAllocator(3000);
            SlotAllocator manySlots = new SlotAllocator(200);
            PrefixTree subject = new PrefixTree(manyPages, manySlots, true);
            Map<String, Integer> oracle = new HashMap<>();
            List<int[]> texts = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                int[] text = variation(random, texts);
                texts.add(text);
                int expected = 0;
                for (int length = 1; length < text.length; length++) {
                    if (oracle.containsKey(Arrays.toString(Arrays.copyOf(text, length)))) {
                        expected = length;
                    }
                }
                PrefixTree.Match match = subject.match(text, text.length - 1);
                assertEquals(expected, match.length());
                Arrays.stream(match.pages()).forEach(manyPages::release);
                if (match.copyFrom() >= 0) {
                    manyPages.release(match.copyFrom());
                }
                int[] own = new int[(text.length + Batch.PAGE - 1) / Batch.PAGE];
                Arrays.setAll(own, page -> manyPages.take());
                PrefixNode node = subject.insert(text, text.length, own);
                assertNotNull(node);
                if (subject.checkpoint(node, text.length) == null) {
                    subject.keep(node, text.length, manySlots.take(), false);
                }
                oracle.put(Arrays.toString(text), text.length);
                Arrays.stream(own).forEach(manyPages::release);
            }
            subject.clear();
            assertEquals(0, manyPages.heldInAll());
            assertEquals(200, manySlots.free());
        }
    }

    private static int[] variation(Random random, List<int[]> texts) {
        int length = 1 + random.nextInt(300);
        int[] text = new int[length];
        for (int i = 0; i < length; i++) {
            text[i] = random.nextInt(3);
        }
        if (!texts.isEmpty()) {
            int[] base = texts.get(random.nextInt(texts.size()));
            System.arraycopy(base, 0, text, 0, Math.min(random.nextInt(base.length + 1), length));
        }
        return text;
    }
}
