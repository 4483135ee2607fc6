package dev.strata.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Consumer;

/**
 * Where experts lie: flags of the memory tiers.
 *
 * @param gpu number of the card
 * @param vramLimitGib pretends that the card has no more memory than this; 0: all
 * @param vramReserveMib device memory that stays free
 * @param cacheSlots slots of the expert cache; -1: as many as fit
 * @param prefill value of {@code --prefill}: auto, a chunk, or auto:N; empty: {@code --chunk} says
 * @param borrow whether prompts borrow their buffers from the expert cache
 * @param residence which tier holds the experts that are not on a card
 * @param residentBudgetGib experts that stay in RAM over the file; 0: no budget
 * @param profile file with what was learned about the experts' use
 * @param profileSave where to write it at exit and every ten minutes
 * @param adaptation how the cache follows the use of experts
 * @param helperCaches expert caches on further cards, as given
 * @param ngram where the rows of an n-gram table are read
 * @param misses who computes experts that a decode step misses
 */
public record TierOptions(
        int gpu,
        double vramLimitGib,
        int vramReserveMib,
        int cacheSlots,
        Optional<String> prefill,
        boolean borrow,
        Residence residence,
        long residentBudgetGib,
        Optional<Path> profile,
        Optional<Path> profileSave,
        Adaptation adaptation,
        List<String> helperCaches,
        NgramAccess ngram,
        Misses misses) {
    /** Which tier holds the experts that are not on a card. */
    public enum Residence {
        /** The memory plan decides. */
        AUTO,
        /** RAM, or no start. */
        RESIDENT,
        /** The mapped model files; the system's page cache decides. */
        MAPPED,
        /** As much RAM as can be spared, the rest from the files. */
        LOW_RAM
    }

    /** What to tell about flags that do nothing yet. */
    public Optional<String> notice() {
        return helperCaches.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "--expert-cache-device1 to 3 do nothing yet: expert caches on helper cards come in a later version,"
                                + " experts are kept on card " + gpu + " alone");
    }

    /** Where the rows of an n-gram table are read. */
    public enum NgramAccess {
        /** From the mapped files while they fit into memory with ease, else past the page cache unless the drive is slow. */
        AUTO,
        /** Row by row, past the page cache. */
        DIRECT,
        /** In the mapped files. */
        MMAP,
        /** The whole table in RAM. */
        RAM
    }

    /**
     * @param every steps between two rounds of swaps
     * @param swaps most swaps in one round
     * @param decay factor on all counts after a round
     * @param minGain how many times the victim's count a newcomer must have
     */
    public record Adaptation(int every, int swaps, float decay, float minGain) {}

    /** Which cores compute missed experts. */
    public enum PoolAffinity {
        /** All in the order of their numbers. */
        ALL,
        /** All, performance cores first. */
        AUTO,
        /** Performance cores only. */
        P_CORES
    }

    /**
     * @param linkShare part of the missed experts that the card reads over the link, 0 to 1; empty: by measured rates
     * @param poolWorkers threads that compute the others; 0: one for every physical core but two
     * @param affinity which cores they take
     */
    public record Misses(OptionalDouble linkShare, int poolWorkers, PoolAffinity affinity) {
        public static final Misses DEFAULTS = new Misses(OptionalDouble.empty(), 0, PoolAffinity.AUTO);
    }

    public static final TierOptions DEFAULTS = new TierOptions(
            0,
            0,
            700,
            -1,
            Optional.empty(),
            true,
            Residence.AUTO,
            0,
            Optional.empty(),
            Optional.empty(),
            new Adaptation(4, 96, 0.88f, 1.05f),
            List.of(),
            NgramAccess.AUTO,
            Misses.DEFAULTS);

    /** With experts that are not on a card elsewhere. */
    public TierOptions withResidence(Residence other, long budgetGib) {
        return with(options -> {
            options.residence = other;
            options.residentBudgetGib = budgetGib;
        });
    }

    /** With chunks of another size. */
    public TierOptions withPrefill(String text) {
        return with(options -> options.prefill = Optional.of(text));
    }

    /** With a cache of another size; -1: as many slots as fit. */
    public TierOptions withCacheSlots(int slots) {
        return with(options -> options.cacheSlots = slots);
    }

    /** With another limit of the card's memory. */
    public TierOptions withVramLimitGib(double limit) {
        return with(options -> options.vramLimitGib = limit);
    }

    /** With misses computed elsewhere. */
    public TierOptions withMisses(Misses other) {
        return with(options -> options.misses = other);
    }

    /** The same with what {@code change} sets. */
    private TierOptions with(Consumer<Change> change) {
        Change changed = new Change(this);
        change.accept(changed);
        return new TierOptions(
                changed.gpu,
                changed.vramLimitGib,
                changed.vramReserveMib,
                changed.cacheSlots,
                changed.prefill,
                changed.borrow,
                changed.residence,
                changed.residentBudgetGib,
                changed.profile,
                changed.profileSave,
                changed.adaptation,
                changed.helperCaches,
                changed.ngram,
                changed.misses);
    }

    /** Options while they are being changed. */
    private static final class Change {
        int gpu;
        double vramLimitGib;
        int vramReserveMib;
        int cacheSlots;
        Optional<String> prefill;
        boolean borrow;
        Residence residence;
        long residentBudgetGib;
        Optional<Path> profile;
        Optional<Path> profileSave;
        Adaptation adaptation;
        List<String> helperCaches;
        NgramAccess ngram;
        Misses misses;

        Change(TierOptions options) {
            gpu = options.gpu;
            vramLimitGib = options.vramLimitGib;
            vramReserveMib = options.vramReserveMib;
            cacheSlots = options.cacheSlots;
            prefill = options.prefill;
            borrow = options.borrow;
            residence = options.residence;
            residentBudgetGib = options.residentBudgetGib;
            profile = options.profile;
            profileSave = options.profileSave;
            adaptation = options.adaptation;
            helperCaches = options.helperCaches;
            ngram = options.ngram;
            misses = options.misses;
        }
    }
}
