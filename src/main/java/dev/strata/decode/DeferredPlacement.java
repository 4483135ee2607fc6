package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.Device;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.expert.ArenaLayout;
import org.jspecify.annotations.Nullable;

/**
 * A placement that a model can be loaded with before its experts have a place, since the expert cache takes what everything else leaves.
 * Until {@link #become} no expert has an address: passes run and count all experts as zeros, which is how a backend's scratch memory is made
 * to grow before the rest is shared out.
 */
public final class DeferredPlacement implements ExpertPlacement, AutoCloseable {
    private final ArenaLayout layout;
    private final boolean readsAhead;
    private @Nullable Buffer nowhere;
    private @Nullable DevicePlacement placement;

    private DeferredPlacement(ArenaLayout layout, Buffer nowhere, boolean readsAhead) {
        this.layout = layout;
        this.readsAhead = readsAhead;
        this.nowhere = nowhere;
    }

    /** Allocates a table of zeros. */
    public static DeferredPlacement create(Device device, ArenaLayout layout) {
        return create(device, layout, false);
    }

    /**
     * Allocates a table of zeros.
     *
     * @param readsAhead whether experts will be read from files
     */
    public static DeferredPlacement create(Device device, ArenaLayout layout, boolean readsAhead) {
        int widest = 1;
        for (int layer = 0; layer < layout.layers(); layer++) {
            widest = Math.max(widest, layout.experts(layer));
        }
        Buffer nowhere = device.allocate(8L * widest, "expert table while loading");
        try (Stream stream = device.newStream("expert table")) {
            device.fill(nowhere, 0, nowhere.bytes(), 0, stream);
            stream.synchronize();
        } catch (RuntimeException failed) {
            nowhere.close();
            throw failed;
        }
        return new DeferredPlacement(layout, nowhere, readsAhead);
    }

    /** Experts have their places from now on. Between passes; the placement stays its maker's. */
    public void become(DevicePlacement made) {
        placement = made;
        close();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layout.layout(layer);
    }

    @Override
    public Buffer addresses(int layer) {
        DevicePlacement made = placement;
        if (made != null) {
            return made.addresses(layer);
        }
        return java.util.Objects.requireNonNull(nowhere);
    }

    @Override
    public boolean capturable(int rows) {
        return placement != null && placement.capturable(rows);
    }

    @Override
    public void enter(int rows, Stream stream) {
        if (placement != null) {
            placement.enter(rows, stream);
        }
    }

    @Override
    public long lentMemory() {
        return placement == null ? 0 : placement.lentMemory();
    }

    @Override
    public void beginPass(int rows, Stream stream) {
        if (placement != null) {
            placement.beginPass(rows, stream);
        }
    }

    @Override
    public void products(int layer, ExpertGroups groups) {
        if (placement != null) {
            placement.products(layer, groups);
        } else {
            groups.run(0, layout.experts(layer));
            groups.nothing();
        }
    }

    @Override
    public boolean readsAhead() {
        return readsAhead;
    }

    @Override
    public void expect(int layer, Routing guess, int rows) {
        if (placement != null) {
            placement.expect(layer, guess, rows);
        }
    }

    @Override
    public void endPass(Stream stream) {
        if (placement != null) {
            placement.endPass(stream);
        }
    }

    @Override
    public void promptGoesOn() {
        if (placement != null) {
            placement.promptGoesOn();
        }
    }

    @Override
    public boolean whole(int layer) {
        return placement != null && placement.whole(layer);
    }

    @Override
    public int form() {
        return placement == null ? 0 : 1 + placement.form();
    }

    @Override
    public boolean resident() {
        return placement != null && placement.resident();
    }

    @Override
    public boolean sharesProcessor() {
        return placement != null && placement.sharesProcessor();
    }

    @Override
    public void settled() {
        if (placement != null) {
            placement.settled();
        }
    }

    @Override
    public void promptFinished() {
        if (placement != null) {
            placement.promptFinished();
        }
    }

    @Override
    public void close() {
        Buffer zeros = nowhere;
        nowhere = null;
        if (zeros != null) {
            zeros.close();
        }
    }
}
