package dev.strata.config;

import java.util.List;

/** What a variable may be set to. */
public sealed interface Values {
    /** Whether {@code text} is one of the accepted values. */
    boolean accepts(String text);

    /** The accepted values in words, for error messages and the table of variables. */
    String accepted();

    /** Off or on. */
    record Flag() implements Values {
        @Override
        public boolean accepts(String text) {
            return text.equals("0") || text.equals("1");
        }

        @Override
        public String accepted() {
            return "0 or 1";
        }
    }

    /** A whole number between two bounds, both included. */
    record Whole(long least, long most) implements Values {
        @Override
        public boolean accepts(String text) {
            try {
                long value = Long.parseLong(text);
                return value >= least && value <= most;
            } catch (NumberFormatException e) {
                return false;
            }
        }

        @Override
        public String accepted() {
            return most == Long.MAX_VALUE
                    ? "a whole number from " + least + " on"
                    : "a whole number from " + least + " to " + most;
        }
    }

    /** A number between two bounds, both included. */
    record Real(double least, double most) implements Values {
        @Override
        public boolean accepts(String text) {
            try {
                double value = Double.parseDouble(text);
                return value >= least && value <= most;
            } catch (NumberFormatException e) {
                return false;
            }
        }

        @Override
        public String accepted() {
            return "a number from " + least + " to " + most;
        }
    }

    /** One of some words. */
    record Choice(List<String> words) implements Values {
        public static Choice of(String... words) {
            return new Choice(List.of(words));
        }

        @Override
        public boolean accepts(String text) {
            return words.contains(text);
        }

        @Override
        public String accepted() {
            return String.join(", ", words);
        }
    }

    /** Either of two kinds, such as a number or a word. */
    record Either(Values first, Values second) implements Values {
        @Override
        public boolean accepts(String text) {
            return first.accepts(text) || second.accepts(text);
        }

        @Override
        public String accepted() {
            return first.accepted() + ", or " + second.accepted();
        }
    }

    /** Any text that is not empty, such as a folder. */
    record Text(String what) implements Values {
        @Override
        public boolean accepts(String text) {
            return !text.isBlank();
        }

        @Override
        public String accepted() {
            return what;
        }
    }
}
