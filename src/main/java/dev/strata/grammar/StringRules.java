package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Strings of JSON: which they may be, and how they are written. */
final class StringRules {
    private static final String DAY_29_AND_30 = "(?:0[13-9]|1[0-2])-(?:29|30)";
    private static final String LEAP_YEAR =
            "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    private static final String DATE = "(?:[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|" + DAY_29_AND_30
            + "|(?:0[13578]|1[02])-31)|" + LEAP_YEAR + "-02-29)";
    private static final String TIME =
            "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
    private static final String BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    private static final Map<String, String> FORMATS = Map.of(
            "date",
            DATE,
            "time",
            TIME,
            "date-time",
            DATE + "T" + TIME,
            "uuid",
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "ipv4",
            BYTE + "(?:\\." + BYTE + "){3}");

    private static final CodePointSet BARE =
            CodePointSet.range(0x20, CodePointSet.LAST).minus(CodePointSet.of("<"));

    private StringRules() {}

    /** The strings a schema allows; null when it allows all. */
    static @org.jspecify.annotations.Nullable TextAutomaton of(JsonNode schema) {
        List<TextAutomaton> rules = new ArrayList<>();
        JsonNode patterns = schema.path("pattern");
        if (patterns.isTextual()) {
            rules.add(TextAutomaton.of(RegexParser.search(patterns.asText())));
        }
        for (JsonNode pattern : patterns) {
            rules.add(TextAutomaton.of(RegexParser.search(pattern.asText())));
        }
        String format = FORMATS.get(schema.path("format").asText());
        if (format != null) {
            rules.add(TextAutomaton.of(RegexParser.whole(format)));
        }
        int least = SchemaKeywords.count(schema, "minLength", 0);
        int most = SchemaKeywords.count(schema, "maxLength", -1);
        if (most >= 0 && least > most) {
            throw new GrammarException("\"minLength\" is larger than \"maxLength\"");
        }
        if (least > 0 || most >= 0) {
            rules.add(TextAutomaton.length(least, most));
        }
        TextAutomaton all = rules.isEmpty() ? null : rules.getFirst();
        for (int index = 1; index < rules.size() && all != null; index++) {
            all = all.intersection(rules.get(index));
        }
        if (all != null && !all.isPossible()) {
            throw new GrammarException("\"pattern\", \"format\" and the lengths of a string leave no string");
        }
        return all;
    }

    /**
     * Which character of a JSON string may come.
     *
     * @param escapes whether it may be written with a backslash
     */
    record Letter(CodePointSet set, boolean escapes) {
        static final Letter ANYTHING = new Letter(CodePointSet.ALL, true);

        boolean isAnything() {
            return equals(ANYTHING);
        }

        /** Whether it is written in so few ways that a rule of its own would only be in the way. */
        private boolean isSimple() {
            return !set.isEmpty()
                    && set.ranges() <= 3
                    && set.containsOnly(0x7F)
                    && !(escapes && (set.contains('"') || set.contains('\\') || set.first(0) < 0x20));
        }
    }

    /**
     * Appends the strings between quotes.
     *
     * @param escapes whether characters may be written with a backslash
     */
    static int quoted(GrammarBuilder builder, int from, TextAutomaton text, boolean escapes) {
        int[] nodes = new int[text.size()];
        for (int node = 0; node < nodes.length; node++) {
            nodes[node] = builder.node();
        }
        builder.empty(builder.literal(from, "\""), nodes[0]);
        for (int node = 0; node < nodes.length; node++) {
            for (TextAutomaton.Edge edge : text.edges(node)) {
                Letter letter = new Letter(edge.set(), escapes);
                if (letter.isSimple()) {
                    append(builder, nodes[node], letter, nodes[edge.to()]);
                } else {
                    builder.letter(nodes[node], letter, nodes[edge.to()]);
                }
            }
            for (int next : text.emptySteps(node)) {
                builder.empty(nodes[node], nodes[next]);
            }
        }
        return builder.literal(nodes[text.accept()], "\"");
    }

    /** Appends the strings as they are, without quotes and escapes. */
    static int bare(GrammarBuilder builder, int from, TextAutomaton text) {
        int[] nodes = new int[text.size()];
        for (int node = 0; node < nodes.length; node++) {
            nodes[node] = builder.node();
        }
        builder.empty(from, nodes[0]);
        for (int node = 0; node < nodes.length; node++) {
            for (TextAutomaton.Edge edge : text.edges(node)) {
                // Line breaks and opening brackets would look like the end of the value.
                CodePointSet set = edge.set().intersection(BARE);
                if (set.containsOnly(0x7F)) {
                    builder.characters(nodes[node], set, nodes[edge.to()]);
                } else {
                    builder.sharedCharacters(nodes[node], set, nodes[edge.to()]);
                }
            }
            for (int next : text.emptySteps(node)) {
                builder.empty(nodes[node], nodes[next]);
            }
        }
        return nodes[text.accept()];
    }

    /** Appends the ways to write a character. */
    static void append(GrammarBuilder builder, int from, Letter letter, int to) {
        CodePointSet set = letter.set();
        builder.characters(from, set.intersection(Utf8Bytes.PLAIN), to);
        if (!letter.escapes()) {
            return;
        }
        CodePointSet letters = CodePointSet.NONE;
        String escaped = "\"\\\b\f\n\r\t";
        for (int index = 0; index < escaped.length(); index++) {
            if (set.contains(escaped.charAt(index))) {
                letters = letters.union(CodePointSet.of(String.valueOf("\"\\bfnrt".charAt(index))));
            }
        }
        boolean all = letter.isAnything();
        if (letters.isEmpty() && !all) {
            return;
        }
        int backslash = builder.literal(from, "\\");
        builder.characters(backslash, all ? letters.union(CodePointSet.of("/")) : letters, to);
        if (all) {
            // Any character by its number; halves of surrogate pairs are left out, since a single one is no character.
            Pattern hexadecimal = new Pattern.Characters(CodePointSet.of("0123456789abcdefABCDEF"));
            Pattern number = new Pattern.Sequence(List.of(
                    new Pattern.Text("u"),
                    new Pattern.Choice(List.of(
                            new Pattern.Sequence(List.of(
                                    new Pattern.Characters(CodePointSet.of("0123456789abcefABCEF")), hexadecimal)),
                            new Pattern.Sequence(List.of(
                                    new Pattern.Characters(CodePointSet.of("dD")),
                                    new Pattern.Characters(CodePointSet.of("01234567")))))),
                    hexadecimal,
                    hexadecimal));
            builder.empty(builder.pattern(backslash, number, Map.of()), to);
        }
    }
}
