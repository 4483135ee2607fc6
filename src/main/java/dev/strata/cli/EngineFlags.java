package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.EngineOptions.Speculation;
import picocli.CommandLine.Option;

/** Flags of commands that run an engine. */
final class EngineFlags {
    private static final EngineOptions STANDARD = EngineOptions.DEFAULTS;

    /** Whether the model's draft layer is used. */
    enum DraftLayer {
        AUTO,
        OFF
    }

    @Option(
            names = "--max-context",
            paramLabel = "N",
            description = "Tokens that one text may have. Default: what the model was trained for, at most 32768.")
    private int maxContext = STANDARD.maxContext();

    @Option(names = "--parallel", paramLabel = "N", description = "Sequences that share steps. Default: 1.")
    private int parallel = STANDARD.parallel();

    @Option(
            names = "--chunk",
            paramLabel = "N",
            description = "Prompt tokens read in one pass. Default: 512, on a card by --prefill.")
    private int chunk = STANDARD.chunk();

    @Option(names = "--queue", paramLabel = "N", description = "Requests that may wait; more get 429. Default: 64.")
    private int queue = STANDARD.queueLimit();

    @Option(
            names = "--checkpoints",
            paramLabel = "N",
            description = "Recurrent states kept so that later requests can go on from there. Default: 8.")
    private int checkpoints = STANDARD.checkpoints();

    @Option(
            names = "--checkpoint-every",
            paramLabel = "N",
            description = "Prompt tokens between two checkpoints. Default: 2048.")
    private int checkpointEvery = STANDARD.checkpointEvery();

    @Option(
            names = "--cache-tokens",
            paramLabel = "N",
            description = "Tokens of earlier texts that stay in the key-value cache beside the running ones."
                    + " Default: one context.")
    private int cacheTokens = STANDARD.cacheTokens();

    @Option(
            names = "--cache-mib",
            paramLabel = "N",
            description =
                    "Memory for texts that later requests go on from, instead of --cache-tokens and --checkpoints;"
                            + " 0: as these say. Default: 0.")
    private int cacheMib;

    @Option(
            names = "--spec",
            paramLabel = "N",
            description = "Rows of a verify pass, the last token and its drafts: 1 (off) to 8. Default: 5.")
    private int spec = Speculation.DEFAULTS.window();

    @Option(
            names = "--spec-min-p",
            paramLabel = "P",
            description = "Drafting goes on while a draft has at least this probability. Default: 0.5.")
    private float specMinP = Speculation.DEFAULTS.leastProbability();

    @Option(
            names = "--mtp",
            paramLabel = "auto|off",
            description = "Draft with the model's own draft layer when it has one. Default: auto.")
    private DraftLayer mtp = DraftLayer.AUTO;

    @Option(
            names = "--suffix-draft",
            paramLabel = "N",
            description = "Draft from earlier text when the last N tokens stood there before; 0: never. Default: 0.")
    private int suffixDraft = Speculation.DEFAULTS.lookupLength();

    @Option(
            names = "--deterministic",
            description = "A text depends neither on its neighbours in a batch nor on timing.")
    private boolean deterministic;

    /** Bytes of the prefix cache; 0: in tokens and states. */
    long cacheBytes() {
        Counts.require("--cache-mib", cacheMib, 0);
        return (long) cacheMib << 20;
    }

    EngineOptions options() {
        Counts.require("--max-context", maxContext, 0);
        Counts.require("--parallel", parallel, 1);
        Counts.require("--chunk", chunk, 1);
        Counts.require("--queue", queue, 0);
        Counts.require("--checkpoints", checkpoints, 0);
        Counts.require("--checkpoint-every", checkpointEvery, 64);
        Counts.require("--cache-tokens", cacheTokens, -1);
        Counts.requireBetween("--spec", spec, 1, 8);
        Counts.requireBetween("--spec-min-p", specMinP, 0, 1);
        Counts.require("--suffix-draft", suffixDraft, 0);
        return new EngineOptions(
                STANDARD.backend(),
                STANDARD.threads(),
                STANDARD.kv(),
                maxContext,
                parallel,
                chunk,
                queue,
                checkpoints,
                checkpointEvery,
                cacheTokens,
                new Speculation(mtp == DraftLayer.AUTO, spec, specMinP, suffixDraft),
                deterministic);
    }
}
