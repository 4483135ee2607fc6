package dev.strata.chat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StopMatcherTest {
    @Test
    void holdsTextBackOnlyWhileItCanMatch() {
        StopMatcher matcher = new StopMatcher(List.of("STOP", "\n\nUser:"));
        assertEquals("Hello ", matcher.push("Hello S"));
        assertEquals("", matcher.push("TO"));
        assertEquals("STOx", matcher.push("x"));
        assertEquals("a\n", matcher.push("a\n\n\nUs"));
        assertFalse(matcher.matched());
        assertEquals("", matcher.push("er: hi"));
        assertTrue(matcher.matched());
        assertEquals("", matcher.push("more"));
        assertEquals("", matcher.flush());
    }

    @Test
    void whatWasHeldComesAtTheEnd() {
        StopMatcher matcher = new StopMatcher(List.of("</end>"));
        assertEquals("x", matcher.push("x</en"));
        assertEquals("</en", matcher.flush());
        assertFalse(matcher.matched());
    }

    @Test
    void withoutStopStringsNothingIsHeld() {
        StopMatcher matcher = new StopMatcher(List.of("", ""));
        assertEquals("any text", matcher.push("any text"));
    }

    @Test
    void ofTwoThatEndTogetherTheLongerCounts() {
        StopMatcher matcher = new StopMatcher(List.of("c", "abc"));
        assertEquals("x", matcher.push("xabc"));
        assertTrue(matcher.matched());
    }

    @Test
    void anyCuttingGivesTheTextBeforeTheStopThatIsCompleteFirst() {
        Random random = new Random(17);
        for (int round = 0; round < 8_000; round++) {
            String text = word(random, random.nextInt(30));
            List<String> stops = List.of(word(random, random.nextInt(1, 4)), word(random, random.nextInt(1, 5)));
            StopMatcher matcher = new StopMatcher(stops);
            StringBuilder out = new StringBuilder();
            for (int at = 0; at < text.length(); ) {
                int next = Math.min(text.length(), at + random.nextInt(1, 5));
                out.append(matcher.push(text.substring(at, next)));
                at = next;
            }
            out.append(matcher.flush());
            assertEquals(expected(text, stops), out.toString(), () -> text + " " + stops);
        }
    }

    private static String expected(String text, List<String> stops) {
        for (int end = 1; end <= text.length(); end++) {
            String head = text.substring(0, end);
            int longest = stops.stream()
                    .filter(head::endsWith)
                    .mapToInt(String::length)
                    .max()
                    .orElse(0);
            if (longest > 0) {
                return head.substring(0, end - longest);
            }
        }
        return text;
    }

    private static String word(Random random, int length) {
        StringBuilder word = new StringBuilder();
        for (int count = 0; count < length; count++) {
            word.append("ab".charAt(random.nextInt(2)));
        }
        return word.toString();
    }
}
