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

    private ArenaPinner() {}

    /**
     * Registers as much of the plan as the device grants and logs what came of it.
     *
     * <p>Memory that was written before is registered about fifteen times faster than untouched pages, so this runs behind the loader.
     *
     * @param resident which experts the cache will hold, for the report of a plan by need
     */
    public static PinnedRanges pin(
            Device device,
            ExpertArena arena,
            PinPlan plan,
            PinSetting setting,
            BiPredicate<Integer, Integer> resident) {
        ArenaLayout layout = arena.arenaLayout();
        if (setting instanceof PinSetting.Nothing) {
            LOG.info("{}=none: nothing of the expert arena is pinned", PinSetting.VARIABLE);
            return PinnedRanges.none(layout);
        }
        List<PinPlan.Range> ranges = new ArrayList<>();
        List<HostRegistration> registrations = new ArrayList<>();
        String refusal = "";
        for (PinPlan.Range range : plan.ranges()) {
            try {
                registrations.add(device.register(arena.memory().asSlice(range.offset(), range.bytes())));
                ranges.add(range);
            } catch (DeviceException refused) {
                if (refused.kind() != DeviceException.Kind.REGISTRATION_REFUSED) {
                    registrations.forEach(HostRegistration::close);
                    throw refused;
                }
                refusal = String.valueOf(refused.getMessage());
                break;
            }
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
