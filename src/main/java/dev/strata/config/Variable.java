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
    ARENA_PIN_GIB(
            "STRATA_ARENA_PIN_GIB",
            new Values.Either(new Values.Whole(0, 1 << 20), Values.Choice.of("none")),
            null,
            "GiB of the expert arena that are registered with the card: whole layers (or ranges, by need) up to N; 0: the whole arena; none: nothing; unset: as much as the system grants"),
    BATCH_DECODE_SHARE(
            "STRATA_BATCH_DECODE_SHARE",
            new Values.Real(0, 0.95),
            "0.5",
            "share of the time that decoding gets while prompts are read; 0 lets a prompt run to its end first"),
    BUILD(
            "STRATA_BUILD",
            new Values.Flag(),
            "1",
            "launcher: build when there is nothing built or sources have changed"),
    CPU_HUGE_WEIGHTS(
            "STRATA_CPU_HUGE_WEIGHTS",
            new Values.Flag(),
            "1",
            "CPU backend: copy weights into huge pages where RAM has room for all of them; 0 reads them in the mapped file"),
    CPU_ISA(
            "STRATA_CPU_ISA",
            Values.Choice.of("generic", "avx2", "avxvnni", "avx512", "vnni", "vbmi", "amx"),
            null,
            "highest instruction set that the CPU kernels may use; unset: what the processor has"),
    CPU_PACKED_WEIGHTS(
            "STRATA_CPU_PACKED_WEIGHTS",
            new Values.Flag(),
            "1",
            "CPU backend: pack copied weights of 2 to 4 bits for fewer instructions a weight, where RAM has room for the larger copies; 0 copies them as stored"),
    DECODE_FORM(
            "STRATA_DECODE_FORM",
            Values.Choice.of("auto", "separate", "fused"),
            "auto",
            "CUDA backend: how passes of few rows are launched: a kernel for every operation, or kernels that do several each; auto: what was measured to be the fastest"),
    HEAP(
            "STRATA_HEAP",
            new Values.Text("a size such as 2g"),
            "2g",
            "launcher: largest Java heap; models do not live in it"),
    IQ_MT_MIN(
            "STRATA_IQ_MT_MIN",
            new Values.Whole(1, 1024),
            null,
            "accepted so that command lines with it start, and changes nothing: products of up to eight rows with quantized weights sum in one order whatever their number, so steps need no switch"),
    KEEP_MAPPING(
            "STRATA_KEEP_MAPPING",
            new Values.Flag(),
            "0",
            "1: keep the mapped view of the experts open although they lie in RAM or are read past the page cache; 0: it is closed after the start"),
    LINK_PULL(
            "STRATA_LINK_PULL",
            new Values.Flag(),
            "1",
            "the card copies a step's missed experts over the link once, then computes; 0: its products read them in place in RAM"),
    LOOKAHEAD(
            "STRATA_LOOKAHEAD",
            new Values.Flag(),
            null,
            "1: steps guess the next layer's experts and bring them ahead, from files while the drive is idle, and over the link; 0: they are brought when they are needed; unset: from files as long as steps are faster with it, over the link never"),
    MTP_HIDDEN_NORM(
            "STRATA_MTP_HIDDEN_NORM",
            Values.Choice.of("whole", "stream"),
            "whole",
            "how the draft layer norms several residual streams, over which published models disagree: one RMS over all of them, or one each; changes how many drafts are right, no text"),
    PCIE_BALANCE(
            "STRATA_PCIE_BALANCE",
            new Values.Flag(),
            "1",
            "refine the split of missed experts between link and processor while running; 0: keep what was measured at the start"),
    PIN_AHEAD(
            "STRATA_PIN_AHEAD",
            new Values.Flag(),
            "1",
            "register the arena with the card while it is filled, one layer ahead of its readers; 0: when it is full"),
    PIN_BY_NEED(
            "STRATA_PIN_BY_NEED",
            new Values.Flag(),
            "0",
            "register the ranges of the arena that hold experts without a cache slot, instead of whole layers from the first one on"),
    PREFILL_AUTO_MAX(
            "STRATA_PREFILL_AUTO_MAX",
            new Values.Whole(256, 32_768),
            "8192",
            "largest chunk that --prefill auto picks"),
    PREFILL_CPU_SHARE(
            "STRATA_PREFILL_CPU_SHARE",
            new Values.Flag(),
            "1",
            "let the processor compute some of the experts that short prompts miss, where that was measured to be faster;"
                    + " 0: the card alone"),
    PREFILL_CPU_SHARE_MAX(
            "STRATA_PREFILL_CPU_SHARE_MAX",
            new Values.Whole(1, 4096),
            "2048",
            "passes of a prompt with fewer tokens are shared with the processor, also such as could stream when they are all of their prompt"),
    PREFILL_RING(
            "STRATA_PREFILL_RING",
            new Values.Whole(2, 65_536),
            null,
            "slots of the ring that streamed experts pass through; unset: by where the bytes lie"),
    PREFILL_STREAM_MIN(
            "STRATA_PREFILL_STREAM_MIN",
            new Values.Whole(1, 32_768),
            "1024",
            "tokens in one pass from which on every expert without a slot is streamed; smaller passes fetch what they need"),
    PREFILL_TIMING("STRATA_PREFILL_TIMING", new Values.Flag(), "0", "log where the time of prompts went"),
    RESIDENT_REMOTE(
            "STRATA_RESIDENT_REMOTE",
            new Values.Flag(),
            "0",
            "allow --resident-budget-gib together with --expert-cache-device1 to 3, which is refused without it"),
    ROUTE_TAIL_SKIP(
            "STRATA_ROUTE_TAIL_SKIP",
            new Values.Whole(0, 64),
            "0",
            "steps leave out missed experts that every row ranks at this position or later, 0 being the first; 0: none are left out, since this changes answers"),
    STAGER_AHEAD(
            "STRATA_STAGER_AHEAD",
            new Values.Whole(1, 1024),
            null,
            "copies out of the stager's buffers that are queued at the same time: meanwhile neighbours are filled that cross the link in one; unset: 2 for pieces, else no limit"),
    STAGER_BATCH(
            "STRATA_STAGER_BATCH",
            new Values.Whole(1, 32),
            null,
            "neighbouring blobs that a copy thread takes at once; unset: 8 from files, else 1"),
    STAGER_RING(
            "STRATA_STAGER_RING",
            new Values.Whole(1, 1024),
            null,
            "pinned buffers of the stager; unset: by where the bytes lie"),
    STAGER_SIZING(
            "STRATA_STAGER_SIZING",
            Values.Choice.of("reference", "pieces"),
            null,
            "sizes of the stager: blob-sized buffers, or pieces of 1 MiB in a ring of 48 MiB; unset: pieces from RAM, reference from files"),
    STAGER_SLEEP(
            "STRATA_STAGER_SLEEP", new Values.Flag(), "1", "copy threads that wait sleep after a while; 0: they spin"),
    STAGER_THREADS(
            "STRATA_STAGER_THREADS",
            new Values.Whole(1, 256),
            null,
            "copy threads of the stager; unset: by where the bytes lie and the number of processors"),
    STAGE_RESIDENT(
            "STRATA_STAGE_RESIDENT",
            new Values.Flag(),
            null,
            "1: size the stager as for experts in RAM, 0: as for a file; unset: by where the bytes lie"),
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
