package dev.strata.cli;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;

/** One line that shows how far long work is, redrawn a few times a second; nothing where there is no terminal. */
public final class ProgressBar implements AutoCloseable {
    private static final long REDRAW_NANOS = 200_000_000;
    private static final int WIDTH = 30;

    private final PrintWriter out;
    private final String title;
    private final long total;
    private final boolean shown;
    private final long started = System.nanoTime();
    private long lastDrawn = started - REDRAW_NANOS;

    /** A bar for {@code total} bytes of work on {@code out}. */
    public ProgressBar(PrintWriter out, String title, long total) {
        this(out, title, total, onTerminal());
    }

    /** Whether a person sees what is printed: newer virtual machines have a console without a terminal too. */
    static boolean onTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    ProgressBar(PrintWriter out, String title, long total, boolean shown) {
        this.out = out;
        this.title = title;
        this.total = total;
        this.shown = shown;
    }

    /** Shows that {@code done} bytes are done, now at {@code what}. */
    public synchronized void update(long done, String what) {
        long now = System.nanoTime();
        if (!shown || (now - lastDrawn < REDRAW_NANOS && done < total)) {
            return;
        }
        lastDrawn = now;
        double seconds = Math.max(1e-3, (now - started) / 1e9);
        double share = total == 0 ? 1 : Math.min(1, (double) done / total);
        int filled = (int) (share * WIDTH);
        long left = share == 0 ? 0 : Math.round(seconds / share - seconds);
        out.print(String.format(
                Locale.ROOT,
                "\r%s [%s%s] %3d%% %.1f of %.1f MB, %.0f MB/s, %d s left  %-40.40s",
                title,
                "#".repeat(filled),
                "-".repeat(WIDTH - filled),
                (int) (100 * share),
                done / 1e6,
                total / 1e6,
                done / 1e6 / seconds,
                left,
                what));
        out.flush();
    }

    @Override
    public synchronized void close() {
        if (shown) {
            out.print("\r" + " ".repeat(130) + "\r");
            out.flush();
        }
    }
}
