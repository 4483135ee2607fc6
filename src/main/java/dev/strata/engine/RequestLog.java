package dev.strata.engine;

import dev.strata.decode.ExpertTotals;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One log line for every answer. */
final class RequestLog {
    private static final Logger LOG = LoggerFactory.getLogger(RequestLog.class);

    private RequestLog() {}

    static void ended(Sequence sequence, String how, @Nullable ExpertTotals experts, long now) {
        if (LOG.isInfoEnabled()) {
            LOG.info("request {}{}: {}", sequence.request.number, choice(sequence), line(sequence, how, experts, now));
        }
    }

    private static String choice(Sequence sequence) {
        return sequence.request.request.choices() > 1 ? " choice " + sequence.choice : "";
    }

    /** Such as {@code prompt 30 tokens = 10 reused + 20 read in 8 ms (2500.0 tok/s), 12 generated in 40 ms (300.0 tok/s), stop}. */
    static String line(Sequence sequence, String how, @Nullable ExpertTotals experts, long now) {
        long first = sequence.firstTokenNanos != 0 ? sequence.firstTokenNanos : now;
        double readMillis = sequence.begun ? (first - sequence.startedNanos) / 1e6 : 0;
        double decodeMillis = sequence.firstTokenNanos != 0 ? (now - first) / 1e6 : 0;
        StringBuilder line = new StringBuilder(String.format(
                Locale.ROOT,
                "prompt %d tokens = %d reused + %d read in %.0f ms (%.1f tok/s), %d generated in %.0f ms (%.1f tok/s)",
                sequence.promptLength,
                sequence.reused,
                sequence.readTokens,
                readMillis,
                rate(sequence.readTokens, readMillis),
                sequence.generated(),
                decodeMillis,
                rate(Math.max(0, sequence.generated() - 1), decodeMillis)));
        if (sequence.draftsOffered > 0) {
            line.append(String.format(
                    Locale.ROOT,
                    ", drafts %d of %d accepted, %.2f tokens a pass",
                    sequence.draftsAccepted,
                    sequence.draftsOffered,
                    (double) (sequence.generated() - 1) / Math.max(1, sequence.passes)));
        }
        ExpertTotals before = sequence.expertsBefore;
        if (experts != null && before != null) {
            // Of all sequences that decoded meanwhile: they share steps.
            ExpertTotals used = experts.since(before);
            if (used.any()) {
                line.append(", ").append(used.line());
            }
        }
        return line.append(", ").append(how).toString();
    }

    private static double rate(int tokens, double millis) {
        return millis > 0 ? tokens * 1000 / millis : 0;
    }
}
