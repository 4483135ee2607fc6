package dev.strata.cli;

import dev.strata.config.BackendChoice;
import dev.strata.config.ConfigurationException;
import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.PrecisionChoice;
import dev.strata.config.Variables;
import dev.strata.device.KvFormat;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/** Flags of every command that loads a model. */
final class ModelFlags {
    private static final EngineOptions STANDARD = EngineOptions.DEFAULTS;

    @Option(
            names = {"-m", "--model"},
            paramLabel = "PATH",
            description =
                    "GGUF file, one of its shards, or a folder of safetensors. Default: the model that comes with Strata.")
    private @Nullable Path model;

    @Option(
            names = "--backend",
            paramLabel = "auto|cpu|cuda|reference",
            description = "Where to compute. Default: auto, the fastest that is there.")
    private BackendChoice backend = STANDARD.backend();

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Threads that compute. Default: one for every processor.")
    private int threads = STANDARD.threads();

    @Option(names = "--kv", paramLabel = "f32|f16|int8|q4", description = "Storage of keys and values. Default: f16.")
    private KvFormat kv = STANDARD.kv();

    @Option(
            names = "--precision",
            paramLabel = "default|f32",
            description = "What a card computes in; f32 is slow, for checking. Default: default.")
    private PrecisionChoice precision = STANDARD.precision();

    @Option(
            names = "--log-level",
            paramLabel = "LEVEL",
            description = "trace, debug, info, warn or error. Default: info.")
    private @Nullable LogLevel logLevel;

    /** Reports only what is wrong from now on, unless a level was asked for: an answer is being read where the log appears. */
    void quieten() {
        if (logLevel == null) {
            ConsoleLogging.setLevel(LogLevel.WARN);
        }
    }

    /** What was asked for, with the environment's variables. */
    Options options(EngineOptions rest, List<String> aliases) {
        return options(rest, aliases, Variables.read(System.getenv()));
    }

    Options options(EngineOptions rest, List<String> aliases, Variables variables) {
        return options(path(), rest, aliases, variables);
    }

    private Options options(Path files, EngineOptions rest, List<String> aliases, Variables variables) {
        ConsoleLogging.setLevel(Objects.requireNonNullElse(logLevel, LogLevel.INFO));
        for (String unknown : Variables.unknown(System.getenv())) {
            LoggerFactory.getLogger(ModelFlags.class).warn("{} is not a variable of Strata", unknown);
        }
        if (threads < 0) {
            throw new ConfigurationException("--threads " + threads + " cannot be used: it accepts a number from 0 on");
        }
        EngineOptions engine = rest.withComputation(backend, threads, kv, precision);
        return new Options(files, new ArrayList<>(aliases), engine, variables);
    }

    /** Options of a command that reads no model unless one is named. */
    Options optionsWithoutModel(EngineOptions rest) {
        Path given = model;
        return options(
                given == null ? Path.of("") : ModelPath.resolve(given),
                rest,
                List.of(),
                Variables.read(System.getenv()));
    }

    /** The model's files. */
    Path path() {
        Path given = model;
        return ModelPath.resolve(given != null ? given : ModelPath.standard());
    }
}
