package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.decode.ExpertTotals;
import dev.strata.expert.ArenaLayout;
import dev.strata.expert.ExpertProfile;
import dev.strata.expert.Layouts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProfileSaverTest {
    private static final ArenaLayout LAYOUT = Layouts.small(2, 4);

    @TempDir
    private Path folder;

    @Test
    void itWritesAgainAndAgainAndOnceMoreAtTheEnd() throws Exception {
        Path file = folder.resolve("profile");
        AtomicInteger writes = new AtomicInteger();
        CountDownLatch three = new CountDownLatch(3);
        ProfileSaver saver = new ProfileSaver(
                () -> {
                    three.countDown();
                    return heat(writes.incrementAndGet());
                },
                file);
        saver.start(1);
        assertTrue(three.await(10, TimeUnit.SECONDS));
        saver.close();
        assertEquals(writes.get(), ExpertProfile.load(file, LAYOUT).heat()[1][2]);
    }

    @Test
    void aFolderThatIsNotThereIsTold() {
        ProfileSaver saver = new ProfileSaver(() -> heat(1), folder.resolve("none/profile"));
        saver.close();
        assertTrue(!folder.resolve("none").toFile().exists());
    }

    private static ExpertProfile heat(float value) {
        return new ExpertProfile(new float[][] {{0, 0, 0, 0}, {0, 0, value, 0}});
    }

    @Test
    void totalsTellWhatARequestUsed() throws IOException {
        ExpertTotals before = new ExpertTotals(10, 5, 500, 500, 400, 100, 0, 1, 0, 0);
        ExpertTotals after = new ExpertTotals(110, 85, 85_000_500, 20_000_500, 15_000_400, 5_000_100, 0, 4, 0, 0);
        assertEquals(
                "experts 80.0 % hits (81.0 % of bytes), missed 5.0 MB by processor + 10.0 MB by link, 3 swaps",
                after.since(before).line());
        assertEquals(
                "experts 80.0 % hits (0.0 % of bytes), missed 0.0 MB by processor + 1.0 MB by link + 2.0 MB from the drive, 0 swaps, read 7.00 GB, waited 2.5 s",
                new ExpertTotals(10, 8, 0, 3_000_000, 3_000_000, 0, 2_000_000, 0, 0, 0)
                        .withReads(7_000_000_000L, 2_500_000_000L)
                        .line());
        assertEquals(1, ExpertTotals.NONE.hitRate());
    }
}
