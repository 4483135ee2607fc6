package dev.strata.grammar;

import java.util.List;

/** A regular expression, or the right side of a grammar rule. */
sealed interface Pattern {
    /** One character of the set. */
    record Characters(CodePointSet set) implements Pattern {}

    record Text(String text) implements Pattern {}

    record Sequence(List<Pattern> parts) implements Pattern {}

    record Choice(List<Pattern> options) implements Pattern {}

    /** @param most -1: without limit */
    record Repeat(Pattern part, int least, int most) implements Pattern {}

    /** Another rule of the grammar. */
    record Rule(String name) implements Pattern {}

    Pattern EMPTY = new Sequence(List.of());

    /** A part again and again; nothing stays nothing, however often. */
    static Pattern repeated(Pattern part, int least, int most) {
        return most == 0 || part.isNothing() ? EMPTY : new Repeat(part, least, most);
    }

    private boolean isNothing() {
        return switch (this) {
            case Text(String text) -> text.isEmpty();
            case Sequence(List<Pattern> parts) -> parts.stream().allMatch(Pattern::isNothing);
            case Characters characters -> false;
            case Choice choice -> false;
            case Repeat repeat -> false;
            case Rule rule -> false;
        };
    }
}
