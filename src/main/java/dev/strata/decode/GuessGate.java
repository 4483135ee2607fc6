package dev.strata.decode;

/**
 * Whether guesses of the next layer's experts are right often enough to bring them ahead: a blob that nobody uses keeps the link from one that is missed. At least
 * half have to be of use; otherwise guessing rests for a while. One thread uses it.
 */
final class GuessGate {
    /** Brought blobs after which they are judged. */
    private static final int TRIAL = 256;

    /** Steps without guesses after a bad trial. */
    private static final int REST = 4096;

    private int brought;
    private int found;
    private int resting;

    /**
     * A step is over.
     *
     * @param broughtNow blobs that were brought in it
     * @param foundNow how many of them were used
     */
    void step(int broughtNow, int foundNow) {
        if (resting > 0) {
            resting--;
            return;
        }
        brought += broughtNow;
        found += foundNow;
        if (brought >= TRIAL) {
            resting = 2 * found < brought ? REST : 0;
            brought = 0;
            found = 0;
        }
    }

    boolean open() {
        return resting == 0;
    }
}
