package dev.strata.tokenizer;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Gives added tokens their roles: what files say by id, completed by spellings that always mean the same. */
final class Roles {
    private static final List<String> ENDS = List.of(
            "<|im_end|>",
            "<|endoftext|>",
            "<|eot_id|>",
            "<|eom_id|>",
            "<|end_of_text|>",
            "<|return|>",
            "<|call|>",
            "<end_of_turn>",
            "<｜end▁of▁sentence｜>");
    private static final List<List<String>> GAPS = List.of(
            List.of("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
            List.of("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
            List.of("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
            List.of("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
            List.of("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"));
    /** Marked as special in some files although parsers of answers have to see them. */
    private static final Set<String> VISIBLE = Set.of(
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<tool_response>",
            "</tool_response>",
            "<tools>",
            "</tools>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>");

    private final Map<String, Integer> ids = new HashMap<>();
    private final TreeSet<Integer> end = new TreeSet<>();
    private OptionalInt begin = OptionalInt.empty();
    private boolean addBegin;
    private int[] gap = {-1, -1, -1};

    Roles(Collection<AddedTokens.Added> added) {
        added.forEach(token -> ids.putIfAbsent(token.text(), token.id()));
    }

    static boolean isControl(String text, boolean markedSpecial) {
        return markedSpecial && !VISIBLE.contains(text);
    }

    Roles begin(@Nullable Object id) {
        begin = begin.isPresent() ? begin : tokenId(id);
        return this;
    }

    Roles addBegin(boolean add) {
        addBegin = add;
        return this;
    }

    /** A number, a token's text, or a list of these; null changes nothing. */
    Roles end(@Nullable Object id) {
        if (id instanceof Collection<?> several) {
            several.forEach(this::end);
        } else {
            tokenId(id).ifPresent(end::add);
        }
        return this;
    }

    Roles gap(@Nullable Object prefix, @Nullable Object suffix, @Nullable Object middle) {
        gap = new int[] {
            tokenId(prefix).orElse(-1),
            tokenId(suffix).orElse(-1),
            tokenId(middle).orElse(-1)
        };
        return this;
    }

    SpecialTokens build() {
        ENDS.forEach(this::end);
        for (List<String> spelling : GAPS) {
            if (gap[0] < 0 || gap[1] < 0 || gap[2] < 0) {
                gap(spelling.get(0), spelling.get(1), spelling.get(2));
            }
        }
        Optional<SpecialTokens.FillInTheMiddle> fill = gap[0] < 0 || gap[1] < 0 || gap[2] < 0
                ? Optional.empty()
                : Optional.of(new SpecialTokens.FillInTheMiddle(gap[0], gap[1], gap[2]));
        return new SpecialTokens(
                begin, addBegin && begin.isPresent(), java.util.Collections.unmodifiableSortedSet(end), fill);
    }

    private OptionalInt tokenId(@Nullable Object id) {
        Integer known = id instanceof Number number
                ? Integer.valueOf(number.intValue())
                : id instanceof String text ? ids.get(text) : null;
        return known == null || known < 0 ? OptionalInt.empty() : OptionalInt.of(known);
    }
}
