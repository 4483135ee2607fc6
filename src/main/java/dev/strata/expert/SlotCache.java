package dev.strata.expert;

import dev.strata.device.Buffer;
import java.util.Arrays;

/**
 * The expert cache in device memory: which slot holds which expert, in which state. Slots follow one another in one allocation,
 * hottest first; the tail can be lent to prompts. One thread changes it; copies are made by others.
 */
public final class SlotCache implements AutoCloseable {
    private final ArenaLayout layout;
    private final SlotPlan plan;
    private final Buffer buffer;
    private final SlotState[] states;
    private final int[] expertOf;
    private final int[][] slotOf;
    private final int[][] slotsOf;
    private int firstLent;
    private long version;

    /** Takes {@code buffer} over; every slot of {@code plan} starts as free. */
    public SlotCache(ArenaLayout layout, SlotPlan plan, Buffer buffer) {
        if (plan.bytes() > buffer.bytes()) {
            throw new IllegalArgumentException("slots of " + plan.bytes() + " bytes do not fit into " + buffer.bytes());
        }
        this.layout = layout;
        this.plan = plan;
        this.buffer = buffer;
        states = new SlotState[plan.slots()];
        Arrays.fill(states, SlotState.FREE);
        expertOf = plan.experts().clone();
        slotOf = new int[layout.layers()][];
        for (int layer = 0; layer < slotOf.length; layer++) {
            slotOf[layer] = new int[layout.experts(layer)];
            Arrays.fill(slotOf[layer], -1);
        }
        for (int slot = 0; slot < states.length; slot++) {
            slotOf[plan.layers()[slot]][expertOf[slot]] = slot;
        }
        slotsOf = new int[layout.layers()][];
        for (int layer = 0; layer < slotsOf.length; layer++) {
            int owner = layer;
            slotsOf[layer] = java.util.stream.IntStream.range(0, plan.slots())
                    .filter(slot -> plan.layers()[slot] == owner)
                    .toArray();
        }
        firstLent = plan.slots();
    }

    /** Slots that belong to a layer, ascending; not to be changed. */
    int[] slotsOf(int layer) {
        return slotsOf[layer];
    }

    public int slots() {
        return plan.slots();
    }

    public SlotPlan plan() {
        return plan;
    }

    public Buffer buffer() {
        return buffer;
    }

    public SlotState state(int slot) {
        return states[slot];
    }

    public int layer(int slot) {
        return plan.layers()[slot];
    }

    /** The expert that the slot holds or is about to hold. */
    public int expert(int slot) {
        return expertOf[slot];
    }

    public long offset(int slot) {
        return plan.offsets()[slot];
    }

    /** The slot assigned to an expert, in whatever state; -1 when there is none. */
    public int slot(int layer, int expert) {
        return slotOf[layer][expert];
    }

    /** Whether the expert's blob can be read from a slot. */
    public boolean isResident(int layer, int expert) {
        int slot = slotOf[layer][expert];
        return slot >= 0 && states[slot] == SlotState.READY;
    }

    /** Device address of a resident expert, 0 for others. */
    public long address(int layer, int expert) {
        return isResident(layer, expert) ? buffer.address() + plan.offsets()[slotOf[layer][expert]] : 0;
    }

    /** Experts that can be read from slots. */
    public int residents() {
        return (int)
                Arrays.stream(states).filter(state -> state == SlotState.READY).count();
    }

    /** Changes whenever the set of residents does. */
    public long version() {
        return version;
    }

    /** A copy into a free slot begins. */
    public void loading(int slot) {
        expect(slot, SlotState.FREE);
        states[slot] = SlotState.LOADING;
    }

    /** The copy into a slot has landed. */
    public void ready(int slot) {
        expect(slot, SlotState.LOADING);
        states[slot] = SlotState.READY;
        version++;
    }

    /** A copy failed: the slot is free again. */
    public void failed(int slot) {
        expect(slot, SlotState.LOADING);
        states[slot] = SlotState.FREE;
    }

    /**
     * Gives the slot of one expert to another one of the same layer. The old one stops being resident at once, the slot is free for the
     * copy of the new one.
     */
    public void replace(int slot, int expert) {
        expect(slot, SlotState.READY);
        int layer = plan.layers()[slot];
        if (slotOf[layer][expert] >= 0) {
            throw new IllegalStateException("expert " + expert + " of layer " + layer + " has a slot already");
        }
        slotOf[layer][expertOf[slot]] = -1;
        expertOf[slot] = expert;
        slotOf[layer][expert] = slot;
        states[slot] = SlotState.FREE;
        version++;
    }

    /**
     * Lends the tail: {@code bytes} before {@code end}.
     *
     * @param end where the loan ends in the allocation; behind it nothing may be a slot
     * @return where they start
     * @throws IllegalStateException when slots of the tail are being loaded, or it is lent already
     */
    public long lend(long bytes, long end) {
        int first = plan.firstLent(bytes, end);
        if (first < 0 || firstLent < plan.slots()) {
            throw new IllegalStateException(bytes + " bytes of the expert cache cannot be lent");
        }
        for (int slot = first; slot < plan.slots(); slot++) {
            if (states[slot] == SlotState.LOADING) {
                throw new IllegalStateException("slot " + slot + " cannot be lent: it is busy");
            }
        }
        for (int slot = first; slot < plan.slots(); slot++) {
            states[slot] = SlotState.LENT;
        }
        firstLent = first;
        version++;
        return end - bytes;
    }

    /** Takes the tail back: its slots are free and wait for their experts' blobs. Returns the first of them. */
    public int takeBack() {
        int first = firstLent;
        for (int slot = first; slot < plan.slots(); slot++) {
            states[slot] = SlotState.FREE;
        }
        firstLent = plan.slots();
        return first;
    }

    /** Slots on loan. */
    public int lent() {
        return plan.slots() - firstLent;
    }

    public ArenaLayout layout() {
        return layout;
    }

    private void expect(int slot, SlotState state) {
        if (states[slot] != state) {
            throw new IllegalStateException("slot " + slot + " is " + states[slot] + ", not " + state);
        }
    }

    @Override
    public void close() {
        buffer.close();
    }
}
