package dev.strata.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.Stream;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.AheadSource;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.FileSources;
import dev.strata.expert.Layouts;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Guesses of the next layer's experts on a device: they come to the host with the choice of this layer, and are read ahead. */
class LookAheadPlacementTest {
    private static final ArenaLayout MODEL = Layouts.small(5, 48);

    @Test
    void guessesAreReadAheadAndNothingElseChanges() throws IOException {
        PlacementSettings settings = new PlacementSettings(
                20,
                1000,
                32,
                true,
                false,
                StagerSizing.Overrides.NONE,
                true,
                false,
                SlotAdaptation.DEFAULTS,
                6,
                null,
                4);
        try (FakeDevice device = FakeDevice.threaded(8 << 20);
                AheadSource ahead = AheadSource.start(FileSources.over(MODEL, FileSources.patterns(MODEL)))) {
            TieredExpertSource source = TieredExpertSource.file(ahead);
            try (DevicePlacement placement = ExpertTiers.place(
                            device, source, PinnedRanges.none(MODEL), ExpertProfile.even(MODEL), settings);
                    FakePass pass = new FakePass(device, new Guessing(placement), MODEL.layers(), 6, 64)) {
                assertTrue(placement.readsAhead());
                SplittableRandom random = new SplittableRandom(6);
                for (int step = 0; step < 60; step++) {
                    pass.run(step % 20 == 0 ? 40 : 1 + step % 3, random);
                }
                assertEquals(List.of(), pass.wrong());
                assertTrue(ahead.guessed() > 0);
            }
            assertEquals(List.of(), device.failures());
        }
    }

    /** Lets every layer guess that the next one chooses the same experts. */
    private record Guessing(DevicePlacement placement) implements ExpertPlacement {
        @Override
        public ExpertLayout layout(int layer) {
            return placement.layout(layer);
        }

        @Override
        public Buffer addresses(int layer) {
            return placement.addresses(layer);
        }

        @Override
        public void enter(int rows, Stream stream) {
            placement.enter(rows, stream);
        }

        @Override
        public void beginPass(int rows, Stream stream) {
            placement.beginPass(rows, stream);
        }

        @Override
        public void products(int layer, ExpertGroups groups) {
            if (layer + 1 < MODEL.layers()) {
                placement.expect(layer + 1, groups.routing(), groups.rows());
            }
            placement.products(layer, groups);
        }

        @Override
        public void endPass(Stream stream) {
            placement.endPass(stream);
        }

        @Override
        public void settled() {
            placement.settled();
        }
    }
}
