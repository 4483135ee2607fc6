package dev.strata.cli;

import dev.strata.config.ConfigurationException;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.TierOptions.Adaptation;
import dev.strata.config.TierOptions.NgramAccess;
import dev.strata.config.TierOptions.PoolAffinity;
import dev.strata.config.TierOptions.Residence;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.prefill.ChunkSetting;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Flags of the memory tiers. */
final class TierFlags {
    private static final TierOptions STANDARD = TierOptions.DEFAULTS;

    @Option(names = "--gpu", paramLabel = "N", description = "Number of the card. Default: 0.")
    private int gpu = STANDARD.gpu();

    @Option(
            names = "--vram-limit-gib",
            paramLabel = "N",
            description = "Use the card as if it had no more memory than this. Default: all.")
    private double vramLimit = STANDARD.vramLimitGib();

    @Option(
            names = "--vram-reserve-mib",
            paramLabel = "N",
            description = "Memory of the card that stays free. Default: 700.")
    private int vramReserve = STANDARD.vramReserveMib();

    @Option(
            names = "--expert-cache",
            paramLabel = "auto|N",
            description = "Experts kept on the card. Default: auto, as many as fit.")
    private String cache = "auto";

    @Option(
            names = {"--expert-cache-device1", "--expert-cache-device2", "--expert-cache-device3"},
            paramLabel = "N",
            description = "Experts kept on helper cards, which come in a later version: accepted, with a warning.")
    private List<String> helperCaches = new ArrayList<>();

    @Option(
            names = "--prefill",
            paramLabel = "auto|N|auto:N",
            description = "Prompt tokens read in one pass: N, or the largest number that fits, up to 8192 or up to N."
                    + " Default: what --chunk says; on a card auto where --chunk says nothing.")
    private @Nullable String prefill;

    @Option(
            names = "--no-prefill-borrow",
            description =
                    "Keep the prompts' ring free for the whole run instead of borrowing it from the expert cache.")
    private boolean noBorrow;

    @Option(names = "--resident-experts", description = "Keep all experts in RAM, or do not start.")
    private boolean resident;

    @Option(names = "--mmap-experts", description = "Read experts from the mapped model files.")
    private boolean mapped;

    @Option(
            names = "--low-ram",
            description = "Keep as many experts in RAM as can be spared, read the rest from the files.")
    private boolean lowRam;

    @Option(
            names = "--resident-budget-gib",
            paramLabel = "N",
            description = "Keep the busiest experts in N GiB of RAM, read the rest from the files.")
    private long budget = STANDARD.residentBudgetGib();

    @Option(
            names = "--ple-io",
            paramLabel = "auto|direct|mmap|ram",
            description =
                    "Where rows of an n-gram table are read: past the page cache, in the mapped files, or all in RAM."
                            + " Default: auto, by its size and the drive.")
    private NgramAccess ngram = STANDARD.ngram();

    @Option(names = "--expert-profile", paramLabel = "FILE", description = "What was learned about the use of experts.")
    private @Nullable Path profile;

    @Option(
            names = "--expert-profile-save",
            paramLabel = "FILE",
            description = "Write what was learned at exit and every ten minutes.")
    private @Nullable Path profileSave;

    @Option(names = "--adapt-every", paramLabel = "N", description = "Steps between two rounds of swaps. Default: 4.")
    private int adaptEvery = STANDARD.adaptation().every();

    @Option(names = "--adapt-swaps", paramLabel = "N", description = "Most swaps in one round. Default: 96.")
    private int adaptSwaps = STANDARD.adaptation().swaps();

    @Option(
            names = "--adapt-decay",
            paramLabel = "F",
            description = "Factor on the counts of recent uses after a round. Default: 0.88.")
    private float adaptDecay = STANDARD.adaptation().decay();

    @Option(
            names = "--adapt-min-gain",
            paramLabel = "F",
            description = "How many times the uses of the expert that it replaces a newcomer must have. Default: 1.05.")
    private float adaptMinGain = STANDARD.adaptation().minGain();

    @Option(
            names = "--pcie-frac",
            paramLabel = "auto|F",
            description =
                    "Part of a step's missed experts that the card reads over the link, 0 to 1; the processor computes the"
                            + " others. Default: auto, by measured rates.")
    private String pcieFrac = "auto";

    @Option(
            names = "--pool-workers",
            paramLabel = "N",
            description = "Threads that compute missed experts. Default: 0, one for every physical core but two.")
    private int poolWorkers;

    @Option(
            names = "--pool-affinity",
            paramLabel = "all|auto|p-cores",
            description = "Cores of these threads: all, performance cores first, or performance cores only."
                    + " Default: auto.")
    private String poolAffinity = "auto";

    /** The same options with what these flags say. */
    Options addTo(Options plain) {
        return plain.withTiers(options(plain.variables()));
    }

    TierOptions options(Variables variables) {
        Counts.require("--gpu", gpu, 0);
        Counts.require("--vram-reserve-mib", vramReserve, 0);
        Counts.require("--adapt-every", adaptEvery, 1);
        Counts.require("--adapt-swaps", adaptSwaps, 0);
        Counts.requireBetween("--adapt-decay", adaptDecay, 0, 1);
        Counts.requireBetween("--adapt-min-gain", adaptMinGain, 1, 1e6f);
        if (vramLimit < 0 || budget < 0) {
            throw new ConfigurationException("--vram-limit-gib and --resident-budget-gib accept numbers from 0 on");
        }
        String chunk = prefill;
        if (chunk != null) {
            checkPrefill(chunk, variables);
        }
        helpers(variables);
        return new TierOptions(
                gpu,
                vramLimit,
                vramReserve,
                slots(),
                Optional.ofNullable(chunk),
                !noBorrow,
                residence(),
                budget,
                Optional.ofNullable(profile),
                Optional.ofNullable(profileSave),
                new Adaptation(adaptEvery, adaptSwaps, adaptDecay, adaptMinGain),
                helperCaches,
                ngram,
                misses());
    }

    private TierOptions.Misses misses() {
        Counts.require("--pool-workers", poolWorkers, 0);
        OptionalDouble linkShare = OptionalDouble.empty();
        if (!pcieFrac.equals("auto")) {
            float part = number("--pcie-frac", pcieFrac);
            Counts.requireBetween("--pcie-frac", part, 0, 1);
            linkShare = OptionalDouble.of(part);
        }
        PoolAffinity affinity = switch (poolAffinity) {
            case "all" -> PoolAffinity.ALL;
            case "auto" -> PoolAffinity.AUTO;
            case "p-cores" -> PoolAffinity.P_CORES;
            default ->
                throw new ConfigurationException(
                        "--pool-affinity " + poolAffinity + " cannot be used: it accepts all, auto or p-cores");
        };
        return new TierOptions.Misses(linkShare, poolWorkers, affinity);
    }

    private static void checkPrefill(String text, Variables variables) {
        try {
            int most = (int) variables.whole(Variable.PREFILL_AUTO_MAX).orElse(ChunkSetting.AUTO_MOST);
            ChunkSetting.parse(text, most);
        } catch (IllegalArgumentException refused) {
            throw new ConfigurationException(String.valueOf(refused.getMessage()));
        }
    }

    private int slots() {
        if (cache.equals("auto")) {
            return -1;
        }
        int slots = (int) number("--expert-cache", cache);
        Counts.require("--expert-cache", slots, 1);
        return slots;
    }

    private static float number(String flag, String text) {
        try {
            return Float.parseFloat(text);
        } catch (NumberFormatException notANumber) {
            throw new ConfigurationException(flag + " " + text + " cannot be used: it accepts auto or a number");
        }
    }

    private Residence residence() {
        int chosen = (resident ? 1 : 0) + (mapped ? 1 : 0) + (lowRam ? 1 : 0) + (budget > 0 ? 1 : 0);
        if (chosen > 1) {
            throw new ConfigurationException(
                    "--resident-experts, --mmap-experts, --low-ram and --resident-budget-gib exclude one another");
        }
        return resident ? Residence.RESIDENT : mapped ? Residence.MAPPED : lowRam ? Residence.LOW_RAM : Residence.AUTO;
    }

    private void helpers(Variables variables) {
        if (helperCaches.isEmpty()) {
            return;
        }
        if (budget > 0 && !variables.flag(Variable.RESIDENT_REMOTE)) {
            throw new ConfigurationException(
                    "--resident-budget-gib cannot be combined with --expert-cache-device1 to 3:"
                            + " set STRATA_RESIDENT_REMOTE=1 to try it, or leave one out");
        }
    }
}
