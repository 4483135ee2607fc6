package dev.strata.expert;

import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.HostRegistration;
import dev.strata.memory.Bytes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BiPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Registers the ranges of a plan until the device refuses one; what was registered stays. */
public final class ArenaPinner {
    private static final Logger LOG = LoggerFactory.getLogger(ArenaPinner.class);

    private final Device device;
    private final ExpertArena arena;
    private final List<PinPlan.Range> ranges = new ArrayList<>();
    private final List<HostRegistration> registrations = new ArrayList<>();
    private String refusal = "";

    ArenaPinner(Device device, ExpertArena arena) {
        this.device = device;
        this.arena = arena;
    }

    /**
     * Registers as much of the plan as the device grants and logs what came of it.
     *
     * <p>Memory that was written before is registered about fifteen times faster than untouched pages. {@link PinAhead} does the same while
     * the arena is filled.
     *
     * @param resident which experts the cache will hold, for the report of a plan by need
     */
    public static PinnedRanges pin(
            Device device,
            ExpertArena arena,
            PinPlan plan,
            PinSetting setting,
            BiPredicate<Integer, Integer> resident) {
        ArenaPinner pinner = new ArenaPinner(device, arena);
        for (PinPlan.Range range : plan.ranges()) {
            if (!pinner.register(range)) {
                break;
            }
        }
        return pinner.finish(plan, setting, resident);
    }

    /**
     * Registers one range.
     *
     * @return false when the system refused and will refuse others
     * @throws DeviceException for any other failure, after everything was given back
     */
    boolean register(PinPlan.Range range) {
        try {
            registrations.add(device.register(arena.memory().asSlice(range.offset(), range.bytes())));
            ranges.add(range);
            return true;
        } catch (DeviceException refused) {
            if (refused.kind() != DeviceException.Kind.REGISTRATION_REFUSED) {
                giveUp();
                throw refused;
            }
            refusal = String.valueOf(refused.getMessage());
            return false;
        }
    }

    /** Takes all registrations back. */
    void giveUp() {
        registrations.forEach(HostRegistration::close);
        registrations.clear();
        ranges.clear();
    }

    /** Logs what came of the plan; the registrations are the result's from now on. */
    PinnedRanges finish(PinPlan plan, PinSetting setting, BiPredicate<Integer, Integer> resident) {
        ArenaLayout layout = arena.arenaLayout();
        if (setting instanceof PinSetting.Nothing) {
            LOG.info("{}=none: nothing of the expert arena is pinned", PinSetting.VARIABLE);
            return PinnedRanges.none(layout);
        }
        PinnedRanges pinned = new PinnedRanges(layout, ranges, registrations);
        LOG.info("{}", plan.byNeed() ? needLine(pinned, layout, resident) : layerLine(pinned, layout));
        if (!refusal.isEmpty()) {
            LOG.warn(
                    "arena: the system refused to pin more after {} ({}); the other {} are staged through pinned buffers",
                    Bytes.text(pinned.bytes()),
                    refusal,
                    Bytes.text(layout.dataBytes() - pinned.bytes()));
        }
        return pinned;
    }

    static String layerLine(PinnedRanges pinned, ArenaLayout layout) {
        return String.format(
                Locale.ROOT,
                "arena: %d slices pinned, %s of %s GiB",
                pinned.count(),
                Bytes.gib(pinned.bytes()),
                Bytes.gib(layout.dataBytes()));
    }

    static String needLine(PinnedRanges pinned, ArenaLayout layout, BiPredicate<Integer, Integer> resident) {
        int needed = 0;
        int covered = 0;
        for (int layer = 0; layer < layout.layers(); layer++) {
            for (int expert = 0; expert < layout.experts(layer); expert++) {
                if (!resident.test(layer, expert)) {
                    needed++;
                    covered += pinned.isPinned(layer, expert) ? 1 : 0;
                }
            }
        }
        return String.format(
                Locale.ROOT,
                "arena: pinned by need: %d ranges, %s GiB cover %.1f %% of the non-resident experts, %d layers have a share",
                pinned.count(),
                Bytes.gib(pinned.bytes()),
                needed == 0 ? 100.0 : 100.0 * covered / needed,
                pinned.layersWithShare());
    }
}
