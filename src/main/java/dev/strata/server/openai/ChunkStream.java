package dev.strata.server.openai;

import dev.strata.api.Delta;
import dev.strata.server.http.ErrorBody;
import dev.strata.server.http.EventStream;
import dev.strata.server.http.EventWriter;
import dev.strata.server.http.GenerationCall.Piece;
import dev.strata.server.http.Json;
import dev.strata.server.http.TextFrame;
import dev.strata.server.http.UsageTotal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What the streams of chat and of plain completions share: chunks around one choice, and the end with usage and {@code [DONE]}. */
abstract class ChunkStream implements EventWriter {
    private final Head head;
    private final String kind;
    private final EventStream events;
    private final boolean includeUsage;
    private final UsageTotal usage = new UsageTotal();
    /** By the key of the text, then by choice. */
    private final Map<String, @Nullable TextFrame[]> frames = new HashMap<>();

    /** The last one used, most often the next one, too. */
    private @Nullable TextFrame last;

    private String lastKey = "";
    private int lastChoice;
    private final int choices;
    private int unfinished;
    private boolean failed;

    /** @param kind {@code object} of every chunk */
    ChunkStream(Head head, String kind, EventStream events, boolean includeUsage, int choices) {
        this.head = head;
        this.kind = kind;
        this.events = events;
        this.includeUsage = includeUsage;
        this.choices = choices;
        this.unfinished = choices;
    }

    @Override
    public final void begin() {}

    /**
     * Sends a chunk.
     *
     * @param entry the only one of {@code choices}
     * @param extraName another member of the chunk; null for none
     */
    final void send(Map<String, @Nullable Object> entry, @Nullable String extraName, @Nullable Object extra) {
        events.send(chunk(entry, extraName, extra));
    }

    /**
     * Sends a chunk that differs from the others of its choice in one text only.
     *
     * @param key names the shape within this choice
     * @param entry gives the only one of {@code choices} around a text
     */
    final void sendText(int choice, String key, String text, Function<String, Map<String, @Nullable Object>> entry) {
        TextFrame frame = last;
        if (frame == null || lastChoice != choice || !lastKey.equals(key)) {
            frame = frame(choice, key, entry);
            last = frame;
            lastKey = key;
            lastChoice = choice;
        }
        events.sendFramed(frame, text);
    }

    private TextFrame frame(int choice, String key, Function<String, Map<String, @Nullable Object>> entry) {
        @Nullable TextFrame[] known = frames.computeIfAbsent(key, any -> new @Nullable TextFrame[choices]);
        TextFrame frame = known[choice];
        if (frame == null) {
            frame = TextFrame.of(mark -> chunk(entry.apply(mark), null, null));
            known[choice] = frame;
        }
        return frame;
    }

    private Map<String, @Nullable Object> chunk(
            Map<String, @Nullable Object> entry, @Nullable String extraName, @Nullable Object extra) {
        Map<String, @Nullable Object> chunk = head.object(kind);
        chunk.put("choices", List.of(entry));
        if (includeUsage) {
            chunk.put("usage", null);
        }
        if (extraName != null) {
            chunk.put(extraName, extra);
        }
        return chunk;
    }

    static Map<String, @Nullable Object> shape(Delta.Progress progress) {
        return Json.object(
                "total", progress.total(),
                "cache", progress.cached(),
                "processed", progress.processed(),
                "time_ms", progress.millis());
    }

    final void finished(Piece piece, Delta.Finished end) {
        unfinished--;
        usage.add(piece.prompt(), end.usage(), end.timings());
    }

    final void failed(Delta.Failed failure) {
        failed = true;
        events.send(ErrorBody.openAi(ErrorBody.status(failure.error()), failure.error()));
    }

    @Override
    public final void keepAlive() {
        events.comment("keep-alive");
    }

    @Override
    public final boolean isDone() {
        return failed || unfinished == 0;
    }

    @Override
    public final void end() {
        if (includeUsage && !failed) {
            Map<String, @Nullable Object> chunk = head.object(kind);
            chunk.put("choices", List.of());
            chunk.put("usage", Shapes.usage(usage.total()));
            events.send(chunk);
        }
        events.sendText("[DONE]");
    }
}
