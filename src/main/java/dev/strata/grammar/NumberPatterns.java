package dev.strata.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Regular expressions for the decimal writings of numbers between bounds. */
final class NumberPatterns {
    /** Digits of an integer without an upper bound; more would not fit into 64 bits. */
    private static final int MOST_DIGITS = 18;

    private static final int MOST_SCALE = 40;

    private static final String FRACTION = "\\.[0-9]{1,15}";
    static final String INTEGER = "-?(?:0|[1-9][0-9]{0," + (MOST_DIGITS - 1) + "})";
    static final String NUMBER = INTEGER + "(?:" + FRACTION + ")?(?:[eE][+-]?[0-9]{1,2})?";

    /** A bound of an interval. */
    record Bound(BigDecimal value, boolean exclusive) {
        /** @throws GrammarException naming the keyword, when its number is too long to be compared digit by digit */
        static Bound of(String keyword, JsonNode number, boolean exclusive) {
            boolean finite = Double.isFinite(number.doubleValue()) && Math.abs(number.doubleValue()) < 1e40;
            BigDecimal value = finite ? number.decimalValue() : BigDecimal.ZERO;
            if (!finite || value.scale() > MOST_SCALE) {
                throw new GrammarException("\"" + keyword + "\" is larger than 1e40 or has more than " + MOST_SCALE
                        + " digits behind the point: " + number);
            }
            return new Bound(value, exclusive);
        }

        private Bound negated() {
            return new Bound(value.negate(), exclusive);
        }
    }

    private NumberPatterns() {}

    /** Integers within the bounds (inclusive; null: none), as an expression, or an empty string when there are none. */
    static String integers(@Nullable Bound low, @Nullable Bound high) {
        BigInteger least = low == null
                ? null
                : low.value
                        .setScale(0, RoundingMode.CEILING)
                        .toBigInteger()
                        .add(isExcluded(low) ? BigInteger.ONE : BigInteger.ZERO);
        BigInteger most = high == null
                ? null
                : high.value
                        .setScale(0, RoundingMode.FLOOR)
                        .toBigInteger()
                        .subtract(isExcluded(high) ? BigInteger.ONE : BigInteger.ZERO);
        List<String> options = new ArrayList<>();
        if (most == null || most.signum() >= 0) {
            BigInteger from = least == null || least.signum() < 0 ? BigInteger.ZERO : least;
            add(options, "", natural(from, most));
        }
        if (least == null || least.signum() < 0) {
            BigInteger from = most == null || most.signum() >= 0 ? BigInteger.ONE : most.negate();
            add(options, "-", natural(from, least == null ? null : least.negate()));
        }
        return String.join("|", options);
    }

    private static boolean isExcluded(Bound bound) {
        return bound.exclusive && bound.value.stripTrailingZeros().scale() <= 0;
    }

    private static void add(List<String> options, String sign, String expression) {
        if (!expression.isEmpty()) {
            options.add(sign + "(?:" + expression + ")");
        }
    }

    /** Natural numbers from {@code low} to {@code high}, null: without end. */
    private static String natural(BigInteger low, @Nullable BigInteger high) {
        if (high != null && low.compareTo(high) > 0) {
            return "";
        }
        String first = low.toString();
        String last = high == null ? "9".repeat(Math.max(first.length(), 1)) : high.toString();
        List<String> options = new ArrayList<>();
        for (int digits = first.length(); digits <= last.length(); digits++) {
            String from = digits == first.length() ? first : "1" + "0".repeat(digits - 1);
            String to = digits == last.length() ? last : "9".repeat(digits);
            options.add(sameLength(from, to));
        }
        if (high == null && first.length() < MOST_DIGITS) {
            options.add("[1-9][0-9]{" + first.length() + "," + (MOST_DIGITS - 1) + "}");
        }
        return String.join("|", options);
    }

    /** Numbers of as many digits as both bounds have. */
    private static String sameLength(String low, String high) {
        if (low.equals(high)) {
            return low;
        }
        char first = low.charAt(0);
        char last = high.charAt(0);
        int rest = low.length() - 1;
        if (rest == 0) {
            return "[" + first + "-" + last + "]";
        }
        if (first == last) {
            return first + "(?:" + sameLength(low.substring(1), high.substring(1)) + ")";
        }
        List<String> options = new ArrayList<>();
        if (!low.substring(1).equals("0".repeat(rest))) {
            options.add(first + "(?:" + sameLength(low.substring(1), "9".repeat(rest)) + ")");
            first++;
        }
        boolean partEnd = !high.substring(1).equals("9".repeat(rest));
        if (partEnd) {
            options.add(last + "(?:" + sameLength("0".repeat(rest), high.substring(1)) + ")");
            last--;
        }
        if (first <= last) {
            options.add("[" + first + "-" + last + "][0-9]{" + rest + "}");
        }
        return String.join("|", options);
    }

    /** Decimal numbers within the bounds, without exponents. */
    static Pattern numbers(@Nullable Bound low, @Nullable Bound high) {
        List<String> options = new ArrayList<>();
        if (high == null || high.value.signum() >= 0) {
            add(options, "", magnitudes(low == null || low.value.signum() < 0 ? null : low, high));
        }
        if (low == null || low.value.signum() < 0) {
            Bound from = high == null || high.value.signum() >= 0 ? new Bound(BigDecimal.ZERO, true) : high.negated();
            add(options, "-", magnitudes(from, low == null ? null : low.negated()));
        }
        if (options.isEmpty()) {
            throw new GrammarException("\"minimum\" and \"maximum\" leave no number");
        }
        return RegexParser.whole(String.join("|", options));
    }

    /** Numbers from 0 on within the bounds. */
    private static String magnitudes(@Nullable Bound low, @Nullable Bound high) {
        BigInteger from = low == null ? BigInteger.ZERO : whole(low);
        BigInteger to = high == null ? null : whole(high);
        String lowFraction = low == null ? "" : fraction(low);
        String highFraction = high == null ? "" : fraction(high);
        boolean lowOpen = low != null && low.exclusive;
        boolean highOpen = high != null && high.exclusive;
        List<String> options = new ArrayList<>();
        if (to != null && from.compareTo(to) > 0) {
            return "";
        }
        if (to != null && from.equals(to)) {
            between(options, from, lowFraction, lowOpen, highFraction, highOpen);
            return String.join("|", options);
        }
        atLeast(options, from, lowFraction, lowOpen);
        String inner = natural(from.add(BigInteger.ONE), to == null ? null : to.subtract(BigInteger.ONE));
        if (!inner.isEmpty()) {
            options.add("(?:" + inner + ")(?:" + FRACTION + ")?");
        }
        if (to != null) {
            atMost(options, to, highFraction, highOpen);
        }
        return String.join("|", options);
    }

    private static BigInteger whole(Bound bound) {
        return bound.value.toBigInteger();
    }

    /** Digits behind the point, without zeros at the end. */
    private static String fraction(Bound bound) {
        String plain = bound.value.stripTrailingZeros().toPlainString();
        int point = plain.indexOf('.');
        String digits = point < 0 ? "" : plain.substring(point + 1);
        if (digits.length() > 15) {
            throw new GrammarException("\"minimum\" or \"maximum\" has more than 15 digits behind the point");
        }
        return digits;
    }

    private static void atLeast(List<String> options, BigInteger whole, String fraction, boolean exclusive) {
        if (fraction.isEmpty()) {
            options.add(whole + (exclusive ? "\\.0{0,14}[1-9][0-9]{0,14}" : "(?:" + FRACTION + ")?"));
            return;
        }
        for (int at = 0; at < fraction.length(); at++) {
            if (fraction.charAt(at) < '9') {
                options.add(whole + "\\." + fraction.substring(0, at) + "[" + (char) (fraction.charAt(at) + 1)
                        + "-9][0-9]{0," + (15 - at - 1) + "}");
            }
        }
        String rest = "{0," + (15 - fraction.length()) + "}";
        options.add(whole + "\\." + fraction + (exclusive ? "0" + rest + "[1-9][0-9]" + rest : "[0-9]" + rest));
    }

    private static void atMost(List<String> options, BigInteger whole, String fraction, boolean exclusive) {
        if (fraction.isEmpty()) {
            if (!exclusive) {
                options.add(whole + "(?:\\.0{1,15})?");
            }
            return;
        }
        options.add(whole.toString());
        for (int at = 0; at < fraction.length(); at++) {
            String head = whole + "\\." + fraction.substring(0, at);
            if (at > 0) {
                options.add(head);
            }
            if (fraction.charAt(at) > '0') {
                options.add(head + "[0-" + (char) (fraction.charAt(at) - 1) + "][0-9]{0," + (15 - at - 1) + "}");
            }
        }
        if (!exclusive) {
            options.add(whole + "\\." + fraction + "0{0," + (15 - fraction.length()) + "}");
        }
    }

    /** Both bounds lie between two neighbouring integers: fractions of each length are compared as whole numbers. */
    private static void between(
            List<String> options, BigInteger whole, String low, boolean lowOpen, String high, boolean highOpen) {
        int most = Math.max(low.length(), high.length()) + 1;
        if (most > 15) {
            throw new GrammarException("\"minimum\" and \"maximum\" have too many digits behind the point");
        }
        if (low.isEmpty() && !lowOpen && (!high.isEmpty() || !highOpen)) {
            options.add(whole.toString());
        }
        for (int digits = 1; digits <= most; digits++) {
            BigInteger from = cut(low, digits);
            BigInteger to = cut(high, digits);
            boolean lowIsCut = low.length() > digits;
            boolean highIsCut = high.length() > digits;
            from = lowOpen || lowIsCut ? from.add(BigInteger.ONE) : from;
            BigInteger last = highOpen && !highIsCut ? to.subtract(BigInteger.ONE) : to;
            exactly(options, whole, from, last, digits, "");
            if (digits == most) {
                // With one digit more than the bounds have, whatever follows stays between them.
                BigInteger below = to.subtract(BigInteger.ONE);
                exactly(options, whole, from, below, digits, "[0-9]{1," + (16 - digits) + "}");
                if (!highOpen && from.compareTo(to) <= 0) {
                    exactly(options, whole, to, to, digits, "0{1," + (16 - digits) + "}");
                }
                if (lowOpen && from.compareTo(to) <= 0) {
                    BigInteger edge = from.subtract(BigInteger.ONE);
                    exactly(options, whole, edge, edge, digits, "0{0,14}[1-9][0-9]{0,14}");
                }
            }
        }
    }

    private static void exactly(
            List<String> options, BigInteger whole, BigInteger from, BigInteger to, int digits, String rest) {
        if (from.compareTo(to) <= 0) {
            options.add(whole + "\\.(?:" + sameLength(padded(from, digits), padded(to, digits)) + ")" + rest);
        }
    }

    /** The first digits of a fraction as a whole number. */
    private static BigInteger cut(String fraction, int digits) {
        String padded = fraction + "0".repeat(digits);
        return new BigInteger(padded.substring(0, digits));
    }

    private static String padded(BigInteger value, int digits) {
        String text = value.toString();
        return "0".repeat(digits - text.length()) + text;
    }
}
