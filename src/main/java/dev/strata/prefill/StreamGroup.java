package dev.strata.prefill;

import java.util.List;

/**
 * Neighbouring experts of a layer that are computed together.
 *
 * @param layer layer, or -1 for copies into slots that nobody computes
 * @param first first expert
 * @param count experts, resident ones included
 * @param ringBytes room that its transfers need in the ring, 0 when they go to slots
 * @param transfers what has to cross the link
 */
public record StreamGroup(int layer, int first, int count, long ringBytes, List<Transfer> transfers) {
    /** Most experts of a group. */
    public static final int MOST_EXPERTS = 64;
}
