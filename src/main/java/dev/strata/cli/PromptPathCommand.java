package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.engine.LinkBenchmark;
import dev.strata.engine.PromptArm;
import dev.strata.engine.PromptBenchmark;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code strata bench-prompt-path}: what pinning and staging cost. */
@Command(
        name = "bench-prompt-path",
        description = "Measures how fast experts reach a card: pinned, staged, and by the sizes of the stager.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class PromptPathCommand implements Callable<Integer> {
    @Mixin
    private MeasureFlags flags = new MeasureFlags();

    @Option(
            names = "--arms",
            paramLabel = "all|identity|PIN/SIZING[@CHUNK][+KEY=N...][,...]",
            description = "Settings to compare: none, a number of GiB or 0 (all) for what is pinned;"
                    + " old, reference, reference8 or pieces for the stager; keys are ring, threads, buffers, batch, ahead, slots,"
                    + " timing, and resident for all experts on the card. Default: all pins and sizings.")
    private String arms = "all";

    @Option(names = "--link-only", description = "Stream random experts without a model and compute nothing.")
    private boolean linkOnly;

    @Option(names = "--layers", paramLabel = "N", description = "With --link-only: layers of 512 experts. Default: 48.")
    private int layers = 48;

    @Option(names = "--passes", paramLabel = "N", description = "With --link-only: passes that count. Default: 3.")
    private int passes = 3;

    @Option(names = "--long", paramLabel = "N", description = "Tokens of the long prompts. Default: 32768.")
    private int longPrompt = 32_768;

    @Option(
            names = "--short",
            paramLabel = "N[,N...]",
            split = ",",
            description =
                    "Tokens of the short prompts, three of each length; goals are held against the first. Default: 2048.")
    private List<Integer> shortPrompts = List.of(2048);

    @Option(
            names = "--identity",
            description =
                    "Read one long and one short prompt an arm, with 32 greedy tokens each, and compare the hashes only.")
    private boolean identity;

    @Option(names = "--deterministic", description = "Compute so that all arms must give the same hash.")
    private boolean deterministic;

    @Override
    public Integer call() {
        Counts.require("--layers", layers, 1);
        Counts.require("--passes", passes, 1);
        Counts.require("--long", longPrompt, 256);
        shortPrompts.forEach(length -> Counts.require("--short", length, 1));
        List<PromptArm> chosen = PromptArm.parse(arms);
        EngineOptions engine =
                Requests.oneAtATime(longPrompt + 64, Math.min(8192, longPrompt)).withDeterministic(deterministic);
        Options options = linkOnly ? flags.optionsWithoutModel(engine) : flags.options(engine);
        if (linkOnly) {
            new LinkBenchmark(options, layers, 512, passes).run(chosen, flags::tell);
        } else {
            return new PromptBenchmark(options, longPrompt, shortPrompts, identity).run(chosen, flags::tell) ? 0 : 1;
        }
        return 0;
    }
}
