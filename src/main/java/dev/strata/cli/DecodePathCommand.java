package dev.strata.cli;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.engine.DecodeArm;
import dev.strata.engine.DecodeBenchmark;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code strata bench-decode}: decode with a part of the experts on the card. */
@Command(
        name = "bench-decode",
        description = "Measures decode with a partial expert cache by size of the card and share of the misses,"
                + " beside the bound from rates measured in the same run.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class DecodePathCommand implements Callable<Integer> {
    private static final int CHUNK = 64;

    @Mixin
    private MeasureFlags flags = new MeasureFlags();

    @Option(
            names = "--cards",
            paramLabel = "GIB[/SHARE][,...]",
            description =
                    "Sizes of the card in GiB; none: nothing resident, all: the whole card; 16/both: with this share only. Default: none,12,16,24,32.")
    private String cards = "none,12,16,24,32";

    @Option(
            names = "--shares",
            paramLabel = "SHARE[,...]",
            description = "Who computes missed experts: pool, link, both, or in-place (over the link without a copy)."
                    + " Default: pool,link,both.")
    private String shares = "pool,link,both";

    @Option(names = "--steps", paramLabel = "N", description = "Steps that count. Default: 240.")
    private int steps = 240;

    @Option(names = "--warm-up", paramLabel = "N", description = "Steps before them. Default: 60.")
    private int warmUp = 60;

    @Option(
            names = "--locality",
            paramLabel = "P",
            description = "Probability that a token repeats one of the last 32. Default: 0; with skew=A in the model's"
                    + " name this makes routing that a cache can follow.")
    private float locality;

    @Option(names = "--deterministic", description = "Compute so that all arms must give the same hash.")
    private boolean deterministic;

    @Override
    public Integer call() {
        Counts.require("--steps", steps, 3);
        Counts.require("--warm-up", warmUp, 1);
        Counts.requireBetween("--locality", locality, 0, 1);
        List<DecodeArm> arms = DecodeArm.parse(cards, shares);
        EngineOptions engine = Requests.oneAtATime(warmUp + steps + 1, CHUNK).withDeterministic(deterministic);
        Options options = flags.options(engine);
        return new DecodeBenchmark(options, warmUp, steps, locality).run(arms, flags::tell) ? 0 : 1;
    }
}
