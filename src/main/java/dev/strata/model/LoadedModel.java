package dev.strata.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.strata.device.Backend;
import dev.strata.device.Batch;
import dev.strata.device.LayerState;
import dev.strata.device.Ops;
import dev.strata.device.Picks;
import dev.strata.device.StateUnits;
import dev.strata.device.Tensor;
import dev.strata.format.ModelFiles;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A trunk, perhaps a draft layer, and an output head on a backend. */
final class LoadedModel implements Model {
    private final ModelFiles files;
    private final ModelConfig config;
    private final ModelOptions options;
    private final Backend backend;
    private final Ops ops;
    private final Workspace workspace;
    private final Runnable closer;
    private final Arena arena;
    private final Trunk trunk;
    private final OutputHead head;
    private final @Nullable Drafts drafts;
    private final List<LayerState> states = new ArrayList<>();
    private final List<StateUnits> pages = new ArrayList<>();
    private final List<StateUnits> slots = new ArrayList<>();
    /** What the calling thread does while the backend computes a pass. */
    private Runnable meanwhile = () -> {};

    private MemorySegment kept = MemorySegment.NULL;

    LoadedModel(
            ModelFiles files,
            LayerFactory factory,
            Runnable closer,
            Trunk trunk,
            OutputHead head,
            @Nullable Drafts drafts) {
        this.files = files;
        this.config = factory.sizes().config();
        this.options = factory.options();
        this.workspace = factory.workspace();
        this.backend = workspace.backend();
        this.ops = backend.ops();
        this.closer = closer;
        this.arena = factory.weights().arena();
        this.trunk = trunk;
        this.head = head;
        this.drafts = drafts;
        states.addAll(trunk.states());
        if (drafts != null) {
            states.addAll(drafts.states());
        }
        for (LayerState state : states) {
            if (state instanceof LayerState.Paged paged) {
                pages.add(paged.pages());
            } else if (state instanceof LayerState.Slotted slotted) {
                slots.add(slotted.slots());
            }
        }
    }

    @Override
    public ModelConfig config() {
        return config;
    }

    @Override
    public boolean meanwhile(Runnable work) {
        if (!ops.runsAhead()) {
            return false;
        }
        meanwhile = work;
        return true;
    }

    @Override
    public int maxRows() {
        return options.maxRows();
    }

    @Override
    public int pages() {
        return options.pages();
    }

    @Override
    public int slots() {
        return options.slots();
    }

    @Override
    public void forward(Batch batch, int[] logitRows, MemorySegment logits) {
        forward(batch, logitRows, logits, () -> {});
    }

    @Override
    public boolean pauses(int rows) {
        // Elsewhere layers are queued, not computed, when their operations return. Smaller passes look table rows up
        // before their first layer.
        return !ops.runsAhead() && rows >= NgramBlock.LEAST_AHEAD;
    }

    @Override
    public void forward(Batch batch, int[] logitRows, MemorySegment logits, Pause pause) {
        if (!pauses(batch.rows())) {
            forward(batch, logitRows, logits);
            return;
        }
        Tensor shared = trunk.residual().rows(Math.min(batch.rows(), pause.mostRows()));
        forward(batch, logitRows, logits, () -> {
            if (pause.due()) {
                MemorySegment kept = keptRows(4L * shared.rows() * shared.columns());
                ops.read(shared, kept);
                pause.run();
                ops.write(kept, shared);
            }
        });
    }

    /** Room for rows of a pass that waits. */
    private MemorySegment keptRows(long bytes) {
        if (kept.byteSize() < bytes) {
            kept = arena.allocate(bytes, 64);
        }
        return kept.asSlice(0, bytes);
    }

    private void forward(Batch batch, int[] logitRows, MemorySegment logits, Runnable betweenLayers) {
        checkRows(batch);
        if (logitRows.length == 0) {
            backend.promptGoesOn();
        }
        backend.enter(batch.rows());
        trunk.prepare(batch);
        boolean whole = head.takesAll(logitRows, batch.rows());
        ops.pass(key(whole, batch.hold()), batch, () -> {
            trunk.forward(batch, null, betweenLayers);
            if (whole) {
                head.all(trunk.hidden().rows(batch.rows()));
            }
        });
        if (logitRows.length > 0) {
            meanwhile.run();
        }
        finish(head, trunk.hidden(), whole, batch, logitRows, logits);
    }

    @Override
    public void promptFinished() {
        backend.promptFinished();
    }

    @Override
    public boolean picks() {
        return head.picks();
    }

    @Override
    public void forwardPicked(Batch batch, MemorySegment settings, MemorySegment results) {
        issuePicked(batch, settings, batch.hold() ? "held with picks" : "forward with picks", null);
        meanwhile.run();
        head.readPicks(batch.rows(), results);
        checkPicks(batch.rows(), results);
    }

    @Override
    public boolean foresees() {
        return head.picks() && trunk.foresees() && ops.queuesPasses();
    }

    @Override
    public void beginPicked(Batch batch, MemorySegment settings, boolean behind) {
        if (behind) {
            issuePicked(batch, settings, "behind with picks", head.tokens(batch.rows()));
        } else {
            issuePicked(batch, settings, "forward with picks", null);
        }
        head.fetchPicks(batch.rows());
    }

    @Override
    public void endPicked(int rows, MemorySegment results) {
        meanwhile.run();
        ops.take(results.asSlice(0, 4L * rows * Picks.COLUMNS));
        checkPicks(rows, results);
    }

    private void issuePicked(Batch batch, MemorySegment settings, String key, @Nullable Tensor tokens) {
        checkRows(batch);
        if (batch.rows() > OutputHead.CHUNK) {
            throw new IllegalArgumentException("picks of " + batch.rows() + " rows; at most " + OutputHead.CHUNK);
        }
        backend.enter(batch.rows());
        trunk.prepare(batch);
        head.prepare(settings);
        ops.pass(key, batch, () -> {
            trunk.forward(batch, tokens, () -> {});
            head.pick(trunk.hidden().rows(batch.rows()));
        });
    }

    private void checkPicks(int rows, MemorySegment results) {
        Picks picks = new Picks(results);
        for (int row = 0; row < rows; row++) {
            if (picks.notFinite(row) == head.vocabulary()) {
                throw NonFiniteWeights.explain(files);
            }
        }
    }

    @Override
    public void logits(int rows, MemorySegment target) {
        head.read(rows, target);
    }

    @Override
    public void draft(Batch batch, int[] sourceRow, int[] logitRows, MemorySegment logits) {
        Drafts layer = draftLayer();
        checkRows(batch);
        layer.run(batch, sourceRow, logitRows, logits, meanwhile);
        checkFinite(layer.head(), logitRows.length, logits);
    }

    @Override
    public void draftAhead(Batch batch, int[] sourceRow, int most, float least, DraftedTokens drafted) {
        Drafts layer = draftLayer();
        checkRows(batch);
        layer.ahead(batch, sourceRow, most, least, drafted, meanwhile);
        for (int segment = 0; segment < batch.segments().size(); segment++) {
            if (Float.isNaN(drafted.probability(segment, 0))) {
                throw NonFiniteWeights.explain(files);
            }
        }
    }

    private Drafts draftLayer() {
        Drafts layer = drafts;
        if (layer == null) {
            throw new IllegalStateException(config.name() + " was loaded without a draft layer");
        }
        return layer;
    }

    @Override
    public void request(int[] tokens, int count) {
        trunk.request(tokens, count);
    }

    @Override
    public void expect(int[] tokens, int from, int to) {
        trunk.expect(tokens, from, to);
    }

    private void finish(
            OutputHead output, Tensor hidden, boolean whole, Batch batch, int[] logitRows, MemorySegment logits) {
        if (whole) {
            output.read(batch.rows(), logits);
        } else {
            output.some(hidden, logitRows, logits);
        }
        checkFinite(output, logitRows.length, logits);
    }

    private void checkFinite(OutputHead output, int rows, MemorySegment logits) {
        // A value that is not a number anywhere in the layers reaches every logit, so one a row tells.
        for (int row = 0; row < rows; row++) {
            if (!Float.isFinite(logits.get(JAVA_FLOAT_UNALIGNED, 4L * row * output.vocabulary()))) {
                throw NonFiniteWeights.explain(files);
            }
        }
    }

    private void checkRows(Batch batch) {
        if (batch.rows() > options.maxRows()) {
            throw new IllegalArgumentException(
                    "a pass of " + batch.rows() + " rows; the model was laid out for " + options.maxRows());
        }
    }

    private static String key(boolean logits, boolean hold) {
        if (hold) {
            return logits ? "held with logits" : "held";
        }
        return logits ? "forward with logits" : "forward";
    }

    @Override
    public void commit(Batch batch, int segment, int accepted) {
        ops.commit(batch, segment, accepted);
    }

    @Override
    public void commit(Batch batch, int[] accepted) {
        ops.commit(batch, accepted);
    }

    @Override
    public void clearSlot(int slot) {
        slots.forEach(units -> units.clear(slot));
    }

    @Override
    public void copySlot(int from, int to) {
        slots.forEach(units -> units.copy(from, to));
    }

    @Override
    public void copyPage(int from, int to) {
        pages.forEach(units -> units.copy(from, to));
    }

    @Override
    public StateSizes stateSizes() {
        return new StateSizes(bytes(pages), bytes(slots));
    }

    private static long bytes(List<StateUnits> units) {
        return units.stream().mapToLong(StateUnits::unitBytes).sum();
    }

    @Override
    public void readPage(int page, MemorySegment target) {
        read(pages, page, target);
    }

    @Override
    public void writePage(int page, MemorySegment source) {
        write(pages, page, source);
    }

    @Override
    public void readSlot(int slot, MemorySegment target) {
        read(slots, slot, target);
    }

    @Override
    public void writeSlot(int slot, MemorySegment source) {
        write(slots, slot, source);
    }

    private static void read(List<StateUnits> layers, int unit, MemorySegment target) {
        long at = 0;
        for (StateUnits layer : layers) {
            layer.read(unit, target.asSlice(at, layer.unitBytes()));
            at += layer.unitBytes();
        }
    }

    private static void write(List<StateUnits> layers, int unit, MemorySegment source) {
        long at = 0;
        for (StateUnits layer : layers) {
            layer.write(unit, source.asSlice(at, layer.unitBytes()));
            at += layer.unitBytes();
        }
    }

    @Override
    public void hidden(int rows, MemorySegment target) {
        ops.read(trunk.hidden().rows(rows), target);
    }

    @Override
    public boolean canDraft() {
        return drafts != null;
    }

    @Override
    public void close() {
        trunk.close();
        states.forEach(LayerState::close);
        workspace.close();
        closer.run();
        arena.close();
    }
}
