package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.nio.charset.Charset;
import java.time.ZoneId;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Lines of the log are those that a pattern of logback would give. */
final class ConsoleLineTest {
    private final LoggerContext context = new LoggerContext();
    private final Random random = new Random(3);

    private String pattern(String zone, LoggingEvent event) {
        PatternLayoutEncoder pattern = new PatternLayoutEncoder();
        pattern.setContext(context);
        pattern.setPattern("%d{HH:mm:ss.SSS, " + zone + "} %-5level %msg%n");
        pattern.start();
        return new String(pattern.encode(event), Charset.defaultCharset());
    }

    private LoggingEvent event(long millis, Level level, @Nullable Throwable thrown) {
        LoggingEvent event = new LoggingEvent(
                "x", context.getLogger("dev.strata"), level, "{} of {}, 100 %", thrown, new Object[] {1, "two"});
        event.setTimeStamp(millis);
        return event;
    }

    @Test
    void linesAreThoseOfThePattern() {
        for (String zone : new String[] {"UTC", "Asia/Kathmandu", "America/St_Johns"}) {
            ConsoleLine line = new ConsoleLine(ZoneId.of(zone));
            for (Level level : new Level[] {Level.TRACE, Level.INFO, Level.WARN, Level.ERROR}) {
                check(zone, line, event(1_700_000_000_000L + random.nextLong(1L << 36), level, null));
            }
            Throwable thrown = new IllegalStateException("outside", new IllegalArgumentException("inside"));
            // The ends of a minute, and one before the epoch.
            for (long millis : new long[] {-2, 0, 59_999, 60_000, 3_599_999}) {
                check(zone, line, event(millis, Level.INFO, thrown));
            }
        }
    }

    private void check(String zone, ConsoleLine line, LoggingEvent event) {
        assertEquals(pattern(zone, event), new String(line.encode(event), Charset.defaultCharset()));
    }
}
