package dev.strata.cli;

import ch.qos.logback.classic.pattern.ThrowableProxyConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.Charset;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;

/**
 * A log event as {@code 12:00:01.234 INFO  message}. A pattern would give the same line, but reading it loads dozens of classes at the start, and formatting its
 * date costs a short request as much as some of its tokens.
 */
final class ConsoleLine extends EncoderBase<ILoggingEvent> {
    /** A minute has one beginning of lines in every time zone. */
    private static final long MINUTE = 60_000;

    /** The beginning of the lines of one minute since the epoch. */
    private record Minute(long number, String start) {}

    private final ZoneId zone;
    private volatile Minute minute = new Minute(Long.MIN_VALUE, "");

    ConsoleLine(ZoneId zone) {
        this.zone = zone;
    }

    @Override
    public byte[] encode(ILoggingEvent event) {
        StringBuilder line = new StringBuilder(160);
        time(line, event.getTimeStamp());
        String level = event.getLevel().toString();
        line.append(' ')
                .append(level)
                .repeat(' ', Math.max(0, 5 - level.length()))
                .append(' ');
        line.append(event.getFormattedMessage()).append(System.lineSeparator());
        if (event.getThrowableProxy() != null) {
            line.append(trace(event));
        }
        return line.toString().getBytes(Charset.defaultCharset());
    }

    private static String trace(ILoggingEvent event) {
        ThrowableProxyConverter trace = new ThrowableProxyConverter();
        trace.start();
        return trace.convert(event);
    }

    private void time(StringBuilder line, long millis) {
        long number = Math.floorDiv(millis, MINUTE);
        Minute known = minute;
        if (known.number() != number) {
            LocalTime time = LocalTime.ofInstant(Instant.ofEpochMilli(millis), zone);
            known = new Minute(number, twoDigits(time.getHour()) + ":" + twoDigits(time.getMinute()) + ":");
            minute = known;
        }
        int rest = (int) Math.floorMod(millis, MINUTE);
        int fraction = rest % 1000;
        line.append(known.start()).append(twoDigits(rest / 1000)).append('.');
        line.append(fraction / 100).append(twoDigits(fraction % 100));
    }

    private static String twoDigits(int number) {
        return number < 10 ? "0" + number : Integer.toString(number);
    }

    @Override
    public byte[] headerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] footerBytes() {
        return new byte[0];
    }
}
