package dev.strata.os;

/**
 * Result of a request that the system may refuse without harm.
 *
 * @param done whether it was granted
 * @param reason why not; empty when granted
 */
public record Outcome(boolean done, String reason) {
    /** Granted. */
    public static final Outcome DONE = new Outcome(true, "");

    public static Outcome refused(String reason) {
        return new Outcome(false, reason);
    }
}
