package dev.strata.grammar;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The sets that expressions name with {@code \p{...}}: general categories by their short names (with or without {@code gc=}), scripts
 * ({@code Script=Greek}, {@code sc=Greek}, {@code IsGreek}) and some binary properties. Each is made once: that means looking at every character.
 */
final class UnicodeProperties {
    private static final Map<String, Byte> CATEGORIES = Map.ofEntries(
            Map.entry("Lu", Character.UPPERCASE_LETTER),
            Map.entry("Ll", Character.LOWERCASE_LETTER),
            Map.entry("Lt", Character.TITLECASE_LETTER),
            Map.entry("Lm", Character.MODIFIER_LETTER),
            Map.entry("Lo", Character.OTHER_LETTER),
            Map.entry("Mn", Character.NON_SPACING_MARK),
            Map.entry("Mc", Character.COMBINING_SPACING_MARK),
            Map.entry("Me", Character.ENCLOSING_MARK),
            Map.entry("Nd", Character.DECIMAL_DIGIT_NUMBER),
            Map.entry("Nl", Character.LETTER_NUMBER),
            Map.entry("No", Character.OTHER_NUMBER),
            Map.entry("Pc", Character.CONNECTOR_PUNCTUATION),
            Map.entry("Pd", Character.DASH_PUNCTUATION),
            Map.entry("Ps", Character.START_PUNCTUATION),
            Map.entry("Pe", Character.END_PUNCTUATION),
            Map.entry("Pi", Character.INITIAL_QUOTE_PUNCTUATION),
            Map.entry("Pf", Character.FINAL_QUOTE_PUNCTUATION),
            Map.entry("Po", Character.OTHER_PUNCTUATION),
            Map.entry("Sm", Character.MATH_SYMBOL),
            Map.entry("Sc", Character.CURRENCY_SYMBOL),
            Map.entry("Sk", Character.MODIFIER_SYMBOL),
            Map.entry("So", Character.OTHER_SYMBOL),
            Map.entry("Zs", Character.SPACE_SEPARATOR),
            Map.entry("Zl", Character.LINE_SEPARATOR),
            Map.entry("Zp", Character.PARAGRAPH_SEPARATOR),
            Map.entry("Cc", Character.CONTROL),
            Map.entry("Cf", Character.FORMAT),
            Map.entry("Cs", Character.SURROGATE),
            Map.entry("Co", Character.PRIVATE_USE),
            Map.entry("Cn", Character.UNASSIGNED));
    private static final Map<String, String> LONG_NAMES = Map.of(
            "Letter",
            "L",
            "Mark",
            "M",
            "Number",
            "N",
            "Punctuation",
            "P",
            "Symbol",
            "S",
            "Separator",
            "Z",
            "Other",
            "C");
    private static final Map<String, IntPredicate> BINARY = Map.of(
            "Any", point -> true,
            "ASCII", point -> point < 0x80,
            "Alphabetic", Character::isAlphabetic,
            "Alpha", Character::isAlphabetic,
            "Uppercase", Character::isUpperCase,
            "Lowercase", Character::isLowerCase,
            "White_Space", point -> Character.isSpaceChar(point) || point >= 9 && point <= 13 || point == 0x85,
            "Ideographic", Character::isIdeographic,
            "Emoji", Character::isEmoji);
    private static final Map<String, CodePointSet> KNOWN = new ConcurrentHashMap<>();

    private UnicodeProperties() {}

    /** The set of a name; null when there is none. */
    static @Nullable CodePointSet of(String name) {
        IntPredicate predicate = predicate(name);
        // Scripts may be written in any case; one spelling of each bounds what is kept, and no two other names differ
        // in case alone.
        return predicate == null
                ? null
                : KNOWN.computeIfAbsent(name.toLowerCase(Locale.ROOT), lower -> CodePointSet.where(predicate));
    }

    private static @Nullable IntPredicate predicate(String name) {
        if (BINARY.containsKey(name)) {
            return BINARY.get(name);
        }
        int equals = name.indexOf('=');
        String key = equals < 0 ? "" : name.substring(0, equals);
        String value = name.substring(equals + 1);
        return switch (key) {
            case "" -> value.startsWith("Is") ? script(value.substring(2)) : category(value);
            case "gc", "General_Category" -> category(value);
            case "sc", "Script" -> script(value);
            default -> null;
        };
    }

    private static @Nullable IntPredicate category(String name) {
        String brief = LONG_NAMES.getOrDefault(name, name);
        if (brief.length() == 1) {
            int types = CATEGORIES.entrySet().stream()
                    .filter(entry -> entry.getKey().startsWith(brief))
                    .mapToInt(entry -> 1 << entry.getValue())
                    .sum();
            return types == 0 ? null : point -> (types >>> Character.getType(point) & 1) != 0;
        }
        Byte type = CATEGORIES.get(brief);
        return type == null ? null : point -> Character.getType(point) == type;
    }

    private static @Nullable IntPredicate script(String name) {
        if (!name.toLowerCase(Locale.ROOT).matches("[a-z_]{3,40}")) {
            return null;
        }
        try {
            Character.UnicodeScript script = Character.UnicodeScript.forName(name);
            return point -> Character.UnicodeScript.of(point) == script;
        } catch (IllegalArgumentException unknown) {
            return null;
        }
    }
}
