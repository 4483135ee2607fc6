package dev.strata.chat.template;

import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Python's strftime in the C locale. */
final class TimeFormat {
    private TimeFormat() {}

    static String format(ZonedDateTime time, String format) {
        StringBuilder out = new StringBuilder();
        for (int at = 0; at < format.length(); at++) {
            char unit = format.charAt(at);
            if (unit != '%' || at + 1 >= format.length()) {
                out.append(unit);
                continue;
            }
            char kind = format.charAt(++at);
            boolean bare = kind == '-' && at + 1 < format.length();
            String text = field(time, bare ? format.charAt(++at) : kind);
            out.append(bare && text.length() > 1 ? text.replaceFirst("^0+(?=.)", "") : text);
        }
        return out.toString();
    }

    private static String field(ZonedDateTime time, char kind) {
        String pattern = switch (kind) {
            case 'Y' -> "yyyy";
            case 'y' -> "yy";
            case 'm' -> "MM";
            case 'd' -> "dd";
            case 'B' -> "MMMM";
            case 'b', 'h' -> "MMM";
            case 'A' -> "EEEE";
            case 'a' -> "EEE";
            case 'H' -> "HH";
            case 'I' -> "hh";
            case 'M' -> "mm";
            case 'S' -> "ss";
            case 'p' -> "a";
            case 'j' -> "DDD";
            case 'f' -> "SSSSSS";
            case 'Z' -> "zzz";
            case 'z' -> "xx";
            case 'F' -> "yyyy-MM-dd";
            case 'T' -> "HH:mm:ss";
            case 'R' -> "HH:mm";
            case 'D', 'x' -> "MM/dd/yy";
            case 'X' -> "HH:mm:ss";
            default -> "";
        };
        return switch (kind) {
            case '%' -> "%";
            case 'n' -> "\n";
            case 't' -> "\t";
            case 'e' -> String.format(Locale.ROOT, "%2d", time.getDayOfMonth());
            case 'w' -> String.valueOf(time.getDayOfWeek().getValue() % 7);
            case 's' -> String.valueOf(time.toEpochSecond());
            default -> {
                if (pattern.isEmpty()) {
                    throw new TemplateException("strftime_now does not know %" + kind);
                }
                yield DateTimeFormatter.ofPattern(pattern, Locale.ENGLISH).format(time);
            }
        };
    }
}
