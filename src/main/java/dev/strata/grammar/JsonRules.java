package dev.strata.grammar;

import java.util.List;
import java.util.Map;

/** Rules that every schema shares: white space, and values of any kind. Each is made when it is first asked for. */
final class JsonRules {
    private static final int MOST_INDENT = 32;

    private final GrammarBuilder builder;
    private int space = -1;
    private int string = -1;
    private int any = -1;
    private int object = -1;

    JsonRules(GrammarBuilder builder) {
        this.builder = builder;
    }

    /** Nothing, a blank, or a line break with an indent: enough for every usual layout, and never endless. */
    int space(int from) {
        if (space < 0) {
            space = builder.node();
            Pattern blank = new Pattern.Characters(CodePointSet.of(" \t"));
            Pattern layout = new Pattern.Choice(List.of(
                    Pattern.EMPTY,
                    new Pattern.Text(" "),
                    new Pattern.Sequence(List.of(new Pattern.Text("\n"), new Pattern.Repeat(blank, 0, MOST_INDENT)))));
            builder.end(builder.pattern(space, layout, Map.of()));
        }
        return builder.call(from, space);
    }

    /** A blank, or nothing. */
    int blank(int from) {
        int to = builder.node();
        builder.empty(from, to);
        builder.empty(builder.literal(from, " "), to);
        return to;
    }

    /** Any string. */
    int string(int from) {
        if (string < 0) {
            string = builder.node();
            builder.end(StringRules.quoted(builder, string, TextAutomaton.length(0, -1), true));
        }
        return builder.call(from, string);
    }

    int integer(int from) {
        return builder.pattern(from, RegexParser.whole(NumberPatterns.INTEGER), Map.of());
    }

    int number(int from) {
        return builder.pattern(from, RegexParser.whole(NumberPatterns.NUMBER), Map.of());
    }

    /** Any value. */
    int any(int from) {
        if (any < 0) {
            any = builder.node();
            builder.end(builder.choice(
                    any,
                    List.of(
                            this::object,
                            this::array,
                            this::string,
                            this::number,
                            at -> builder.literal(at, "true"),
                            at -> builder.literal(at, "false"),
                            at -> builder.literal(at, "null"))));
        }
        return builder.call(from, any);
    }

    /** Any object. */
    int object(int from) {
        if (object < 0) {
            object = builder.node();
            int open = builder.literal(object, "{");
            int close = builder.node();
            builder.empty(open, close);
            int key = builder.node();
            builder.empty(space(open), key);
            int value = blank(builder.literal(string(key), ":"));
            int behind = any(value);
            builder.empty(space(builder.literal(behind, ",")), key);
            builder.empty(space(behind), close);
            builder.end(builder.literal(close, "}"));
        }
        return builder.call(from, object);
    }

    private int array(int from) {
        int open = builder.literal(from, "[");
        int close = builder.node();
        builder.empty(open, close);
        int item = builder.node();
        builder.empty(space(open), item);
        int behind = any(item);
        builder.empty(space(builder.literal(behind, ",")), item);
        builder.empty(space(behind), close);
        return builder.literal(close, "]");
    }
}
