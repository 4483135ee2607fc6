package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.device.Device;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ArenaPinner;
import dev.strata.expert.ExpertArena;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.LayerGate;
import dev.strata.expert.PinAhead;
import dev.strata.expert.PinPlan;
import dev.strata.expert.PinSetting;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotPlan;
import dev.strata.expert.TieredExpertSource;
import dev.strata.memory.Bytes;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** Registers an arena with a device as the options say: while it is filled, or behind that. */
final class ArenaPins implements AutoCloseable {
    private static final BiPredicate<Integer, Integer> NOTHING_RESIDENT = (layer, expert) -> false;

    private final Device device;
    private final Options options;
    private @Nullable PinAhead ahead;

    ArenaPins(Device device, Options options) {
        this.device = device;
        this.options = options;
    }

    /**
     * @param plan what to register
     * @param resident which experts the cache is thought to hold
     */
    private record Order(PinPlan plan, BiPredicate<Integer, Integer> resident) {}

    /**
     * What readers pass that fill {@code arena}.
     *
     * @param whole whether it will hold all experts
     */
    LayerGate gate(ExpertArena arena, boolean whole) {
        if (!options.variables().flag(Variable.PIN_AHEAD)) {
            return LayerGate.OPEN;
        }
        PinSetting setting = setting();
        Order order = order(arena.arenaLayout(), setting, whole);
        PinAhead started = PinAhead.start(device, arena, order.plan(), setting, order.resident());
        ahead = started;
        return started;
    }

    /** The registered ranges of a source's arena. Those that were registered while it was filled are the first caller's. */
    PinnedRanges of(TieredExpertSource source) {
        ExpertArena arena = source.arena();
        if (arena == null) {
            return PinnedRanges.none(source.arenaLayout());
        }
        PinAhead started = ahead;
        if (started != null) {
            ahead = null;
            return started.finish();
        }
        PinSetting setting = setting();
        Order order = order(arena.arenaLayout(), setting, source.rest() == null);
        return ArenaPinner.pin(device, arena, order.plan(), setting, order.resident());
    }

    private PinSetting setting() {
        return PinSetting.parse(options.variables().text(Variable.ARENA_PIN_GIB).orElse(null));
    }

    private Order order(ArenaLayout arena, PinSetting setting, boolean whole) {
        Variables variables = options.variables();
        if (!variables.flag(Variable.PIN_BY_NEED) || !whole) {
            return new Order(PinPlan.wholeLayers(arena, setting), NOTHING_RESIDENT);
        }
        BiPredicate<Integer, Integer> resident = expected(arena);
        return new Order(PinPlan.byNeed(arena, setting, resident), resident);
    }

    /** The cache is not there yet: what it will hold is what fits into the card's free memory now. */
    private BiPredicate<Integer, Integer> expected(ArenaLayout arena) {
        ExpertProfile profile = ExpertSources.profile(options.tiers(), arena);
        SlotPlan slots = SlotPlan.fit(
                arena,
                profile.ranking(),
                Math.max(0, device.freeBytes() - options.tiers().vramReserveMib() * Bytes.MIB),
                options.tiers().cacheSlots() < 0
                        ? Integer.MAX_VALUE
                        : options.tiers().cacheSlots());
        boolean[][] cached = new boolean[arena.layers()][];
        for (int layer = 0; layer < cached.length; layer++) {
            cached[layer] = new boolean[arena.experts(layer)];
        }
        for (int slot = 0; slot < slots.slots(); slot++) {
            cached[slots.layers()[slot]][slots.experts()[slot]] = true;
        }
        return (layer, expert) -> cached[layer][expert];
    }

    /** Takes back what nobody has asked for. */
    @Override
    public void close() {
        PinAhead started = ahead;
        if (started != null) {
            ahead = null;
            started.giveUp();
        }
    }
}
