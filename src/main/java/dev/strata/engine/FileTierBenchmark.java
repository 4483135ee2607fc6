package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.decode.DevicePlacement;
import dev.strata.decode.ExpertTotals;
import dev.strata.expert.AheadSource;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.DriveComparison;
import dev.strata.expert.DriveProbe;
import dev.strata.expert.FileReads;
import dev.strata.expert.ReadCounters;
import dev.strata.expert.TieredExpertSource;
import dev.strata.memory.Bytes;
import dev.strata.os.HostPages;
import dev.strata.os.OperatingSystem;
import dev.strata.os.Outcome;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads prompts and writes answers with a model whose experts stay on the drive, against what the drive gives by itself. */
public final class FileTierBenchmark {
    private static final Logger LOG = LoggerFactory.getLogger(FileTierBenchmark.class);
    private static final int[] CEILING_KIB = {512, 1024, 2048, 4096, 8192, 16_384, 32_768};
    private static final int ANSWER_PROMPT = 64;
    private static final int MOST_REQUEST = 32 << 20;

    private final Options options;
    private final long budgetGib;
    private final int prompt;
    private final int prompts;
    private final int answers;
    private final int answerTokens;
    private final long ceilingBytes;
    private final int readers;

    /**
     * @param options name a model in files
     * @param budgetGib RAM for the busiest experts in the arms that do not map
     * @param prompt tokens of the prompts of every arm
     * @param prompts how many an arm reads that is compared with the drive
     * @param answers how many answers the decode arms write, and {@code answerTokens} of how many tokens
     * @param ceilingBytes read for each request size when the drive alone is measured, as it is before and behind each prompt; 0: it is not
     * @param readers requests at the same time when the drive alone is measured
     */
    public FileTierBenchmark(
            Options options,
            long budgetGib,
            int prompt,
            int prompts,
            int answers,
            int answerTokens,
            long ceilingBytes,
            int readers) {
        this.options = options;
        this.budgetGib = budgetGib;
        this.prompt = prompt;
        this.prompts = prompts;
        this.answers = answers;
        this.answerTokens = answerTokens;
        this.ceilingBytes = ceilingBytes;
        this.readers = readers;
    }

    /** Measures the drive, then all arms; hands every result out as soon as it is there. */
    public void run(List<FileArm> arms, Consumer<Map<String, Object>> results) {
        for (int kib : ceilingBytes == 0 ? new int[0] : CEILING_KIB) {
            double rate = DriveProbe.rate(options.model(), kib << 10, readers, ceilingBytes);
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("what", "drive alone");
            row.put("request_kib", kib);
            row.put("readers", readers);
            row.put("gb_per_s", rate / 1e9);
            results.accept(row);
        }
        for (FileArm arm : arms) {
            results.accept(arm(arm));
        }
    }

    private Map<String, Object> arm(FileArm arm) {
        int rows = arm.decode() ? ANSWER_PROMPT : Math.min(arm.chunk(), prompt);
        Options set = arm.apply(options, budgetGib, rows);
        forget(set.model());
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("what", arm.decode() ? "decode" : "prompt");
        row.put("arm", arm.name());
        try (ModelSession session = ModelSession.open(set)) {
            row.put("backend", session.backend().name());
            forget(set.model());
            if (arm.decode()) {
                decode(session, new Benchmark(session, rows), row);
            } else {
                prompt(session, arm, rows, row);
            }
        }
        return row;
    }

    /** A mapped file is cold only in the first pass. The drive's rate drifts, so that it is measured before and behind each prompt. */
    private void prompt(ModelSession session, FileArm arm, int rows, Map<String, Object> row) {
        Benchmark benchmark = new Benchmark(session, rows);
        boolean compared = ceilingBytes > 0 && !arm.mapped();
        int tokens = arm.mapped() ? rows : prompt;
        DriveComparison comparison = DriveComparison.start(() -> compared ? alone(session, arm, rows) : 0);
        ReadCounters.Snapshot read = ReadCounters.Snapshot.NONE;
        double millis = 0;
        int count = compared ? prompts : 1;
        for (int i = 1; i <= count; i++) {
            ReadCounters.Snapshot before = snapshot(session);
            Benchmark.Row result = benchmark.once(tokens, 0, i);
            ReadCounters.Snapshot one = snapshot(session).since(before);
            millis += result.promptMillis();
            read = read.plus(one);
            comparison.add(one.bytes() * 1e3 / result.promptMillis());
        }
        row.put("tokens", tokens);
        row.put("prompts", count);
        row.put("tok_per_s", tokens * count * 1e3 / millis);
        row.put("seconds", millis / 1e3);
        long unique = (long) count * Math.ceilDiv(tokens, rows) * fileBytes(session);
        if (read.requests() > 0) {
            row.put("read_over_unique", unique == 0 ? 0 : read.bytes() / (double) unique);
            tell(read, millis * 1e6, row);
        } else {
            row.put("gb_per_s_of_unique", unique / 1e6 / millis);
        }
        if (compared) {
            row.put("drive_gb_per_s_around", comparison.alone() / 1e9);
            row.put("share_of_drive", comparison.share());
            row.put("least_share", comparison.least());
            row.put("most_share", comparison.most());
        }
    }

    private void decode(ModelSession session, Benchmark benchmark, Map<String, Object> row) {
        ReadCounters.Snapshot before = snapshot(session);
        List<Double> rates = new ArrayList<>();
        double millis = 0;
        for (int answer = 0; answer < answers; answer++) {
            Benchmark.Row result = benchmark.once(ANSWER_PROMPT, answerTokens, answer);
            rates.add(result.decodePerSecond());
            millis += result.promptMillis() + result.decodeMillis();
        }
        row.put("answer_tokens", answerTokens);
        row.put("tok_per_s", rates);
        if (session.home().experts() instanceof TieredExpertSource tiered
                && tiered.rest() instanceof AheadSource ahead) {
            ahead.ratio().ifPresent(ratio -> row.put("time_with_reading_ahead", ratio));
            row.put("blobs_read_ahead", ahead.guessed());
            row.put("blobs_read_ahead_used", ahead.used());
        }
        ExpertTotals used = session.home().totals();
        if (used != null && used.lookups() > 0) {
            row.put("hit_rate", used.hitRate());
            row.put("swaps", used.swaps());
        }
        ReadCounters.Snapshot read = snapshot(session).since(before);
        if (read.requests() > 0) {
            row.put("read_over_asked", read.bytes() / (double) Math.max(1, read.usefulBytes()));
            tell(read, millis * 1e6, row);
        }
    }

    private static void tell(ReadCounters.Snapshot read, double nanos, Map<String, Object> row) {
        double mean = read.bytes() / (double) read.requests();
        double rate = read.bytes() * 1e9 / nanos;
        row.put("gb_read", read.bytes() / 1e9);
        row.put("unbuffered_share", read.directBytes() / (double) Math.max(1, read.bytes()));
        row.put("gb_per_s", rate / 1e9);
        row.put("gb_per_s_while_reading", read.rate() / 1e9);
        if (read.waitedNanos() > 0) {
            row.put("share_of_time_waited", read.waitedNanos() / nanos);
        }
        row.put("requests", read.requests());
        row.put("request_kib", mean / 1024);
        row.put("queue_depth", read.depth());
        row.put("share_of_time_without_request", read.idleShare());
        row.put("share_of_time_with_fewer_than_wanted", read.shallowShare());
        row.put("retries", read.retries());
    }

    /**
     * What the drive alone gives now to requests as large as what a claim takes of one tensor. It reads as much as a prompt does, since a
     * drive behind a limit of bytes a second gives more at first.
     */
    private double alone(ModelSession session, FileArm arm, int rows) {
        long matrix = session.home().experts().layout(0).blobBytes() / 3;
        long request = Math.min(Bytes.roundUp(arm.batch() * matrix, HostPages.SMALL_PAGE), MOST_REQUEST);
        long bytes = Math.ceilDiv(prompt, rows) * fileBytes(session);
        return DriveProbe.rate(options.model(), (int) request, readers, Math.max(bytes, request));
    }

    private static ReadCounters.Snapshot snapshot(ModelSession session) {
        FileReads reads = session.home().fileReads();
        return reads == null ? ReadCounters.Snapshot.NONE : reads.counters().snapshot();
    }

    /** Bytes of the experts that a streamed pass takes from files: those neither in RAM nor, behind a prompt, in a slot. */
    private static long fileBytes(ModelSession session) {
        if (!(session.home().experts() instanceof TieredExpertSource tiered)) {
            return 0;
        }
        DevicePlacement placement = session.home().placement();
        ArenaLayout layout = tiered.arenaLayout();
        long bytes = 0;
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                boolean slot = placement != null && placement.cache().isResident(layer, expert);
                if (tiered.place(layer, expert) < 0 && !slot) {
                    bytes += layout.layout(layer).blobBytes();
                }
            }
        }
        return bytes;
    }

    private static void forget(Path file) {
        Outcome outcome = OperatingSystem.current().forget(file);
        if (!outcome.done()) {
            LOG.warn("the page cache keeps {}: {}", file, outcome.reason());
        }
    }
}
