package dev.strata.decode;

import dev.strata.expert.SlotAdaptation;
import dev.strata.prefill.StagerSizing;
import org.jspecify.annotations.Nullable;

/**
 * How experts are placed on a device.
 *
 * @param slots most slots of the cache; {@link Integer#MAX_VALUE} for as many as fit
 * @param reserve device bytes that stay free
 * @param streamFrom rows from which on a pass streams
 * @param borrow whether prompts borrow the ring from the cache's tail, else it is kept free for the whole run
 * @param stager overrides of the stager's sizes
 * @param stagerSleeps whether waiting copy threads sleep
 * @param timing whether waits are timed on the device
 * @param adaptation swaps of the cache while decoding
 * @param loanPatience small passes after which a loan goes back that no prompt has ended
 * @param loan what prompts borrow beside the ring; null: their activations have memory of their own
 * @param cpus logical CPUs for sizing copy threads
 */
public record PlacementSettings(
        int slots,
        long reserve,
        int streamFrom,
        boolean borrow,
        StagerSizing.Overrides stager,
        boolean stagerSleeps,
        boolean timing,
        SlotAdaptation adaptation,
        int loanPatience,
        @Nullable PromptLoan loan,
        int cpus) {
    /** Rows from which on prompts stream unless {@code STRATA_PREFILL_STREAM_MIN} says otherwise. */
    public static final int STREAM_FROM = 1024;

    /** With activations of prompts in borrowed memory. */
    public PlacementSettings withLoan(PromptLoan other) {
        return new PlacementSettings(
                slots,
                reserve,
                streamFrom,
                borrow,
                stager,
                stagerSleeps,
                timing,
                adaptation,
                loanPatience,
                other,
                cpus);
    }
}
