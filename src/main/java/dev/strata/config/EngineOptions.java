package dev.strata.config;

import dev.strata.device.KvFormat;
import java.util.function.Consumer;

/**
 * How the engine runs a model.
 *
 * @param threads compute threads; 0: one for every processor
 * @param kv storage of keys and values
 * @param maxContext tokens that one sequence may have; 0: what the model was trained for, at most {@value #AUTO_CONTEXT}
 * @param parallel sequences that share steps
 * @param chunk prompt tokens read in one pass
 * @param queueLimit requests that may wait; more are refused
 * @param checkpoints recurrent states kept for prefix reuse
 * @param checkpointEvery prompt tokens between two checkpoints
 * @param cacheTokens key-value tokens kept for prefix reuse beyond what running sequences need; -1: as many as one full context
 * @param speculation how tokens are guessed ahead
 * @param deterministic results depend neither on neighbours in a batch nor on timing
 * @param precision what a card computes in; processors always compute in float32
 */
public record EngineOptions(
        BackendChoice backend,
        int threads,
        KvFormat kv,
        int maxContext,
        int parallel,
        int chunk,
        int queueLimit,
        int checkpoints,
        int checkpointEvery,
        int cacheTokens,
        Speculation speculation,
        boolean deterministic,
        PrecisionChoice precision) {
    /** Largest context that is taken without being asked for. */
    public static final int AUTO_CONTEXT = 32_768;

    public static final EngineOptions DEFAULTS = new EngineOptions(
            BackendChoice.AUTO, 0, KvFormat.F16, 0, 1, 512, 64, 8, 2048, -1, Speculation.DEFAULTS, false);

    /** Options in the default precision. */
    public EngineOptions(
            BackendChoice backend,
            int threads,
            KvFormat kv,
            int maxContext,
            int parallel,
            int chunk,
            int queueLimit,
            int checkpoints,
            int checkpointEvery,
            int cacheTokens,
            Speculation speculation,
            boolean deterministic) {
        this(
                backend,
                threads,
                kv,
                maxContext,
                parallel,
                chunk,
                queueLimit,
                checkpoints,
                checkpointEvery,
                cacheTokens,
                speculation,
                deterministic,
                PrecisionChoice.DEFAULT);
    }

    /** The same with or without the promise of equal bytes. */
    public EngineOptions withDeterministic(boolean wanted) {
        return with(options -> options.deterministic = wanted);
    }

    /** The same with another prefix cache. */
    public EngineOptions withCache(int tokens, int states) {
        return with(options -> {
            options.cacheTokens = tokens;
            options.checkpoints = states;
        });
    }

    /** The same with another chunk. */
    public EngineOptions withChunk(int rows) {
        return with(options -> options.chunk = rows);
    }

    /** The same computed elsewhere or otherwise. */
    public EngineOptions withComputation(BackendChoice where, int cores, KvFormat cached, PrecisionChoice accuracy) {
        return with(options -> {
            options.backend = where;
            options.threads = cores;
            options.kv = cached;
            options.precision = accuracy;
        });
    }

    /** The same with what {@code change} sets. */
    private EngineOptions with(Consumer<Change> change) {
        Change changed = new Change(this);
        change.accept(changed);
        return new EngineOptions(
                changed.backend,
                changed.threads,
                changed.kv,
                changed.maxContext,
                changed.parallel,
                changed.chunk,
                changed.queueLimit,
                changed.checkpoints,
                changed.checkpointEvery,
                changed.cacheTokens,
                changed.speculation,
                changed.deterministic,
                changed.precision);
    }

    /** Options while they are being changed. */
    private static final class Change {
        BackendChoice backend;
        int threads;
        KvFormat kv;
        int maxContext;
        int parallel;
        int chunk;
        int queueLimit;
        int checkpoints;
        int checkpointEvery;
        int cacheTokens;
        Speculation speculation;
        boolean deterministic;
        PrecisionChoice precision;

        Change(EngineOptions options) {
            backend = options.backend;
            threads = options.threads;
            kv = options.kv;
            maxContext = options.maxContext;
            parallel = options.parallel;
            chunk = options.chunk;
            queueLimit = options.queueLimit;
            checkpoints = options.checkpoints;
            checkpointEvery = options.checkpointEvery;
            cacheTokens = options.cacheTokens;
            speculation = options.speculation;
            deterministic = options.deterministic;
            precision = options.precision;
        }
    }

    /**
     * Guessing tokens ahead.
     *
     * @param draftLayer use the model's own draft layer (MTP) when it has one
     * @param window rows of a verify pass: the last token and its drafts, 1 to 8; 1 is no speculation
     * @param leastProbability drafting goes on while the draft layer gives its choice at least this probability
     * @param lookupLength tokens that must repeat before earlier text is taken as a draft; 0: never
     */
    public record Speculation(boolean draftLayer, int window, float leastProbability, int lookupLength) {
        public static final Speculation DEFAULTS = new Speculation(true, 5, 0.5f, 0);
        public static final Speculation OFF = new Speculation(false, 1, 0.5f, 0);

        /** Whether the model's draft layer is wanted. */
        public boolean wantsLayer() {
            return draftLayer && window > 1;
        }
    }
}
