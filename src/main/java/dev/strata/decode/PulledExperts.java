package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.Stream;
import dev.strata.expert.ExpertUsage;
import dev.strata.expert.Newcomers;
import dev.strata.expert.SlotCache;
import java.util.Arrays;

/**
 * Experts that the last step pulled over the link into spare slots, where they lie until others are pulled there. Those that are used more than a
 * resident of their layer are copied into its slot on the device, so that following what is used costs the link nothing. One thread uses it.
 */
final class PulledExperts {
    private static final int NONE = -1;

    private final Device device;
    private final Buffer memory;
    private final long base;
    private final long stride;
    private final int[] layers;
    private final int[] experts;
    private final Newcomers newcomers;
    private final long[] from;
    private final long[] to;
    private final long[] bytes;
    private int copies;

    /**
     * @param base where the spare slots start in {@code memory}
     * @param stride bytes of each
     */
    PulledExperts(Device device, Buffer memory, long base, long stride, int spares) {
        this.device = device;
        this.memory = memory;
        this.base = base;
        this.stride = stride;
        layers = new int[spares];
        experts = new int[spares];
        newcomers = new Newcomers(spares);
        from = new long[spares];
        to = new long[spares];
        bytes = new long[spares];
        Arrays.fill(layers, NONE);
    }

    /** Hears what a slot holds from now on. */
    @FunctionalInterface
    interface Exchange {
        void exchanged(int layer, int gone, int newcomer);
    }

    /** Knows whether a spare slot still holds an expert. */
    @FunctionalInterface
    interface Contents {
        boolean holds(int place, int layer, int expert);
    }

    /** An expert was pulled into a spare slot, over what had been pulled there before. */
    void pulled(int layer, int expert, int place) {
        layers[place] = layer;
        experts[place] = expert;
    }

    /**
     * Keeps what is worth a slot, in the order of {@code stream}, and returns how many that are; the other blobs are forgotten.
     *
     * @param minimumGain how many times the count of what it replaces an expert must have
     */
    int keep(
            SlotCache cache,
            ExpertUsage usage,
            float minimumGain,
            Contents contents,
            Stream stream,
            Exchange exchange) {
        for (int place = 0; place < layers.length; place++) {
            if (layers[place] != NONE && contents.holds(place, layers[place], experts[place])) {
                newcomers.add(layers[place], experts[place], place);
            }
            layers[place] = NONE;
        }
        copies = 0;
        newcomers.admit(cache, usage, minimumGain, (slot, layer, newcomer, place) -> {
            int gone = cache.expert(slot);
            cache.replace(slot, newcomer);
            cache.loading(slot);
            from[copies] = memory.address() + base + place * stride;
            to[copies] = cache.buffer().address() + cache.offset(slot);
            bytes[copies++] = cache.layout().layout(layer).blobBytes();
            cache.ready(slot);
            exchange.exchanged(layer, gone, newcomer);
        });
        device.copyOnDevice(from, to, bytes, copies, stream);
        return copies;
    }
}
