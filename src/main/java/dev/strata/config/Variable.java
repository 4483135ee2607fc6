package dev.strata.config;

import org.jspecify.annotations.Nullable;

/**
 * Every STRATA_* environment variable: its name, what it accepts, its default and its meaning. Values reach the classes only through
 * {@link Variables} in {@link Options}, so that one process can run many settings. A row here has a row in docs/tuning.md and a test.
 */
public enum Variable {
    AOT(
            "STRATA_AOT",
            new Values.Flag(),
            "1",
            "launcher: start from a cache of loaded classes, which is made on first use"),
    BATCH_DECODE_SHARE(
            "STRATA_BATCH_DECODE_SHARE",
            new Values.Real(0, 0.95),
            "0.5",
            "share of the time that decoding gets while prompts are read; 0 lets a prompt run to its end first"),
    BUILD("STRATA_BUILD", new Values.Flag(), "1", "launcher: build when there is nothing built or sources have changed"),
    CPU_ISA(
            "STRATA_CPU_ISA",
            Values.Choice.of("generic", "avx2", "avx512", "vnni"),
            null,
            "highest instruction set that the CPU kernels may use; unset: what the processor has"),
    HEAP("STRATA_HEAP", new Values.Text("a size such as 2g"), "2g", "launcher: largest Java heap; models do not live in it"),
    WATCHDOG_S(
            "STRATA_WATCHDOG_S",
            new Values.Whole(0, 86_400),
            "300",
            "seconds that one step may take before the engine is declared dead and its state is dumped; 0: for ever");

    private final String key;
    private final Values kind;
    private final @Nullable String standard;
    private final String meaning;

    Variable(String key, Values kind, @Nullable String standard, String meaning) {
        this.key = key;
        this.kind = kind;
        this.standard = standard;
        this.meaning = meaning;
    }

    /** The environment variable's name. */
    public String key() {
        return key;
    }

    /** What it accepts. */
    public Values kind() {
        return kind;
    }

    /** The default, or null when something else decides while it is unset. */
    public @Nullable String standard() {
        return standard;
    }

    public String meaning() {
        return meaning;
    }
}
