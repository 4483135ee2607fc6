package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.engine.FileArm;
import dev.strata.engine.FileTierBenchmark;
import dev.strata.expert.FileExpertSource;
import dev.strata.synth.ModelSource;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code strata bench-file-tier}: prompts and answers with experts on the drive. */
@Command(
        name = "bench-file-tier",
        description =
                "Measures prompts and answers of a model whose experts are read from the drive, and the drive alone.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class FileTierCommand implements Callable<Integer> {
    @Mixin
    private MeasureFlags flags = new MeasureFlags();

    @Option(
            names = "--arms",
            paramLabel = "all|mapped|N[@CHUNK][+view][+decode][,...]",
            description = "Settings to compare: the mapped file, or N blobs a request past the page cache;"
                    + " tokens of a pass; the mapped view kept; answers instead of a prompt. Default: all.")
    private String arms = "all";

    @Option(names = "--prompt", paramLabel = "N", description = "Tokens of the prompts. Default: 32768.")
    private int prompt = 32_768;

    @Option(
            names = "--prompts",
            paramLabel = "N",
            description = "Prompts of each arm past the page cache, in turns with the drive alone. Default: 3.")
    private int prompts = 3;

    @Option(names = "--answers", paramLabel = "N", description = "Answers of the decode arms. Default: 3.")
    private int answers = 3;

    @Option(names = "--answer-tokens", paramLabel = "N", description = "Tokens of an answer. Default: 600.")
    private int answerTokens = 600;

    @Option(
            names = "--budget-gib",
            paramLabel = "N",
            description = "RAM for the busiest experts in arms that do not map. Default: 1.")
    private long budget = 1;

    @Option(
            names = "--ceiling-gib",
            paramLabel = "N",
            description =
                    "Read for each request size when the drive alone is measured, as it is before and behind each prompt"
                            + " with as many bytes as the prompt reads; 0: it is not. Default: 1.")
    private double ceiling = 1;

    @Override
    public Integer call() {
        Counts.require("--prompt", prompt, 1);
        Counts.require("--prompts", prompts, 1);
        Counts.require("--answers", answers, 1);
        Counts.require("--answer-tokens", answerTokens, 1);
        if (budget < 1 || ceiling < 0) {
            throw new ConfigurationException("--budget-gib accepts numbers from 1 on, --ceiling-gib from 0 on");
        }
        List<FileArm> chosen;
        try {
            chosen = FileArm.parse(arms);
        } catch (IllegalArgumentException refused) {
            throw new ConfigurationException("--arms: " + refused.getMessage());
        }
        EngineOptions engine =
                Requests.oneAtATime(Math.max(prompt, answerTokens + 128), EngineOptions.DEFAULTS.chunk());
        Options options = flags.options(engine);
        if (ModelSource.isSynthetic(options.model())) {
            throw new ConfigurationException(
                    "--model " + options.model() + " lies in no file: write it with strata synth first");
        }
        long alone = (long) (ceiling * (1L << 30));
        new FileTierBenchmark(options, budget, prompt, prompts, answers, answerTokens, alone, FileExpertSource.DEPTH)
                .run(chosen, flags::tell);
        return 0;
    }
}
