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
import dev.strata.expert.FakeFile;
import dev.strata.expert.FileExpertSource;
import dev.strata.expert.FileSources;
import dev.strata.expert.Layouts;
import dev.strata.expert.PinnedRanges;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.QuantType;
import dev.strata.prefill.StagerSizing;
import java.io.IOException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Guesses of the next layer's experts on a device: they come to the host with the choice of this layer, and are read ahead. */
class LookAheadPlacementTest {
    private static final ArenaLayout MODEL = Layouts.small(5, 48);
    /** Its matrices are large enough to be read to their places, and no whole blocks. */
    private static final ArenaLayout LARGE = Layouts.of(2, 12, 256, 130, QuantType.F16, false);

    @Test
    void guessesAreReadAheadAndNothingElseChanges() throws IOException {
        check(MODEL, FileSources.over(MODEL, FileSources.patterns(MODEL)), 60);
    }

    @Test
    void partsOfBlobsAreOneOnTheDeviceAlsoWhenReadsComeBackShort() throws IOException {
        FileSources.Laid laid = FileSources.lay(LARGE, new SplittableRandom(2), true, layer -> List.of());
        FakeFile file = new FakeFile(laid.contents(), 4096);
        AtomicInteger reads = new AtomicInteger();
        file.shortening(count -> reads.getAndIncrement() % 7 == 6 ? count / 3 : count);
        FileExpertSource source = laid.open(file, 4);
        check(LARGE, source, 6);
        assertTrue(source.counters().retries() > 0);
    }

    private static void check(ArenaLayout model, FileExpertSource files, int steps) throws IOException {
        PlacementSettings settings = new PlacementSettings(
                10, 1000, 32, true, StagerSizing.Overrides.NONE, true, false, SlotAdaptation.DEFAULTS, 6, null, 4);
        try (FakeDevice device = FakeDevice.threaded(64 << 20);
                AheadSource ahead = AheadSource.start(files)) {
            TieredExpertSource source = TieredExpertSource.file(ahead);
            try (DevicePlacement placement = ExpertTiers.place(
                            device, source, PinnedRanges.none(model), ExpertProfile.even(model), settings);
                    FakePass pass =
                            new FakePass(device, new Guessing(placement, model.layers()), model.layers(), 6, 64)) {
                assertTrue(placement.readsAhead());
                SplittableRandom random = new SplittableRandom(6);
                for (int step = 0; step < steps; step++) {
                    pass.run(step % (steps / 3) == 0 ? 40 : 1 + step % 3, random);
                }
                assertEquals(List.of(), pass.wrong());
                assertTrue(ahead.guessed() > 0);
            }
            assertEquals(List.of(), device.failures());
        }
    }

    /** Lets every layer guess that the next one chooses the same experts. */
    private record Guessing(DevicePlacement placement, int layers) implements ExpertPlacement {
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
            if (layer + 1 < layers) {
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
