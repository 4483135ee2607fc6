package dev.strata.engine;

import dev.strata.device.Likeliest;
import dev.strata.device.Picks;
import dev.strata.metrics.Median;
import dev.strata.model.Model;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Measures how fast a model reads and writes, without server or text. */
public final class Benchmark {
    private static final int[] NO_ROWS = new int[0];

    /**
     * One length, median over the repeats.
     *
     * @param promptPerSecond tokens read a second
     * @param decodePerSecond tokens written a second, one at a time
     */
    public record Row(
            int promptTokens,
            int decodeTokens,
            int repeats,
            double promptMillis,
            double promptPerSecond,
            double decodeMillis,
            double decodePerSecond) {}

    private final Model model;
    private final int chunk;
    private final Likeliest choice = new Likeliest();
    private final MemorySegment results = MemorySegment.ofArray(new float[Picks.COLUMNS]);
    private final Picks picks = new Picks(results);

    public Benchmark(ModelSession session, int chunk) {
        model = session.model();
        this.chunk = Math.min(chunk, model.maxRows());
    }

    /** Reads {@code prompt} random tokens, then writes {@code decode} tokens, after one run that is not counted. */
    public Row run(int prompt, int decode, int repeats) {
        List<Double> readTimes = new ArrayList<>();
        List<Double> writeTimes = new ArrayList<>();
        for (int repeat = -1; repeat < repeats; repeat++) {
            Row row = once(prompt, decode, repeat);
            if (repeat >= 0) {
                readTimes.add(row.promptMillis());
                writeTimes.add(row.decodeMillis());
            }
        }
        double read = Median.of(readTimes);
        double write = Median.of(writeTimes);
        return new Row(
                prompt,
                decode,
                repeats,
                read,
                read > 0 ? prompt * 1000 / read : 0,
                write,
                write > 0 && decode > 0 ? decode * 1000 / write : 0);
    }

    /** Reads {@code prompt} random tokens, then writes {@code decode} tokens, once. */
    public Row once(int prompt, int decode, int seed) {
        int[] pages = SingleText.pages(prompt + decode + 1);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment logits = arena.allocate(4L * model.config().vocabulary(), 64);
            int[] text = text(prompt, decode, seed);
            model.clearSlot(0);
            long start = System.nanoTime();
            read(text, prompt, pages, logits);
            long middle = System.nanoTime();
            write(text, prompt, pages, logits);
            double read = (middle - start) / 1e6;
            double write = (System.nanoTime() - middle) / 1e6;
            return new Row(prompt, decode, 1, read, prompt * 1000 / read, write, decode * 1000 / write);
        }
    }

    private int[] text(int prompt, int decode, int seed) {
        int[] text = new int[prompt + decode];
        Random random = new Random(seed);
        for (int i = 0; i < prompt; i++) {
            text[i] = random.nextInt(model.config().vocabulary());
        }
        return text;
    }

    private void read(int[] text, int prompt, int[] pages, MemorySegment logits) {
        model.expect(text, 0, prompt);
        for (int past = 0; past < prompt; past += chunk) {
            int rows = Math.min(chunk, prompt - past);
            boolean last = past + rows == prompt;
            pass(text, past, rows, pages, last ? new int[] {rows - 1} : NO_ROWS, logits);
        }
        model.promptFinished();
    }

    private void write(int[] text, int prompt, int[] pages, MemorySegment logits) {
        if (prompt == text.length) {
            return;
        }
        choice.read(logits, 0, model.config().vocabulary());
        text[prompt] = choice.token();
        if (model.foresees()) {
            writeAhead(text, prompt, pages);
            return;
        }
        for (int position = prompt; position < text.length; position++) {
            int next;
            if (model.picks()) {
                model.forwardPicked(SingleText.batch(text, position, 1, pages), SingleText.LIKELIEST, results);
                next = picks.likeliest(0);
            } else {
                pass(text, position, 1, pages, new int[] {0}, logits);
                choice.read(logits, 0, model.config().vocabulary());
                next = choice.token();
            }
            if (position + 1 < text.length) {
                text[position + 1] = next;
            }
        }
    }

    /** Every pass is begun before the one that chooses its token has ended. */
    private void writeAhead(int[] text, int prompt, int[] pages) {
        model.beginPicked(SingleText.batch(text, prompt, 1, pages), SingleText.LIKELIEST, false);
        for (int position = prompt + 1; position < text.length; position++) {
            model.beginPicked(SingleText.batch(text, position, 1, pages), SingleText.LIKELIEST, true);
            model.endPicked(1, results);
            text[position] = picks.likeliest(0);
        }
        model.endPicked(1, results);
    }

    private void pass(int[] text, int past, int rows, int[] pages, int[] wanted, MemorySegment logits) {
        model.forward(SingleText.batch(text, past, rows, pages), wanted, logits);
    }
}
