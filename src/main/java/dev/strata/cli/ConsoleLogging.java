package dev.strata.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.time.ZoneId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Log lines on standard error, {@code 12:00:01.234 INFO  message}. In code rather than in XML because reading XML takes longer than loading a
 * small model. Found by logback through {@code META-INF/services}.
 */
public final class ConsoleLogging extends ContextAwareBase implements Configurator {
    private static final String PATTERN_DEBUG = "%d{HH:mm:ss.SSS} %-5level [%thread] %logger{20} %msg%n";

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        install(context, new ConsoleLine(ZoneId.systemDefault()));
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    /** Changes the level of everything that is logged; from debug on lines also say thread and class. */
    static void setLevel(LogLevel level) {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
            Level wanted = Level.valueOf(level.name());
            if (!wanted.isGreaterOrEqual(Level.INFO)) {
                context.getLogger(Logger.ROOT_LOGGER_NAME).detachAndStopAllAppenders();
                PatternLayoutEncoder lines = new PatternLayoutEncoder();
                lines.setPattern(PATTERN_DEBUG);
                install(context, lines);
            }
            context.getLogger(Logger.ROOT_LOGGER_NAME)
                    .setLevel(Level.INFO.levelInt > wanted.levelInt ? Level.INFO : wanted);
            context.getLogger("dev.strata").setLevel(wanted);
        }
    }

    private static void install(LoggerContext context, Encoder<ILoggingEvent> encoder) {
        encoder.setContext(context);
        encoder.start();
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setContext(context);
        console.setName("console");
        console.setTarget("System.err");
        console.setEncoder(encoder);
        console.start();
        ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.INFO);
        root.addAppender(console);
    }
}
