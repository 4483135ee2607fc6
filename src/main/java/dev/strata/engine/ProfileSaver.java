package dev.strata.engine;

import dev.strata.expert.ExpertProfile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes what was learned about the use of experts every so often and when it is closed. */
final class ProfileSaver implements AutoCloseable {
    /** Time between two writes. */
    static final long PERIOD_MILLIS = TimeUnit.MINUTES.toMillis(10);

    private static final Logger LOG = LoggerFactory.getLogger(ProfileSaver.class);

    private final Supplier<ExpertProfile> profile;
    private final Path file;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("expert-profile").daemon().factory());

    /** @param profile counts may be a step old: a value that changes meanwhile is as good before as after */
    ProfileSaver(Supplier<ExpertProfile> profile, Path file) {
        this.profile = profile;
        this.file = file;
    }

    void start(long periodMillis) {
        var unused = timer.scheduleWithFixedDelay(this::save, periodMillis, periodMillis, TimeUnit.MILLISECONDS);
    }

    private void save() {
        try {
            profile.get().save(file);
            LOG.info("what was learned about the use of experts is in {}", file);
        } catch (IOException | RuntimeException failed) {
            LOG.warn("the expert profile could not be written to {}: {}", file, failed.toString());
        }
    }

    @Override
    public void close() {
        timer.shutdown();
        try {
            if (!timer.awaitTermination(10, TimeUnit.SECONDS)) {
                LOG.warn("the expert profile is still being written to {}", file);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        save();
    }
}
