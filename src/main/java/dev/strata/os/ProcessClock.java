package dev.strata.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** How long this process has been there. */
public final class ProcessClock {
    /** Clock ticks a second in /proc, the same on every Linux for x86-64 and arm64. */
    private static final long TICKS = 100;
    /** Place of the start time among the fields of /proc/self/stat that follow the program's name. */
    private static final int START_FIELD = 19;

    private ProcessClock() {}

    /**
     * Time since the process was started, within 10 ms on Linux; empty where the system does not say. The library's own start
     * instant is up to a second off there, because it counts from a boot time that is kept in whole seconds.
     */
    public static Optional<Duration> sinceStart() {
        try {
            return Optional.of(sinceStart(
                    Files.readString(Path.of("/proc/self/stat")), Files.readString(Path.of("/proc/uptime"))));
        } catch (IOException | RuntimeException notLinux) {
            return ProcessHandle.current().info().startInstant().map(start -> Duration.between(start, Instant.now()));
        }
    }

    static Duration sinceStart(String stat, String uptime) {
        // The name is in brackets and may hold spaces and brackets itself.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", START_FIELD + 2);
        long started = Long.parseLong(fields[START_FIELD]) * 1000 / TICKS;
        long now = Math.round(Double.parseDouble(uptime.substring(0, uptime.indexOf(' '))) * 1000);
        return Duration.ofMillis(now - started);
    }
}
