package dev.strata.engine;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Remembers in the cache folder which kernels have passed {@link SelfTest} on which machine, so that only the first start pays for it. The
 * launcher names the folder in the property {@code strata.cache}; without it nothing is remembered.
 */
final class SelfTestRecord {
    private static final Logger LOG = LoggerFactory.getLogger(SelfTestRecord.class);

    private final @Nullable Path folder;
    private final String name;

    private SelfTestRecord(@Nullable Path folder, String name) {
        this.folder = folder;
        this.name = name;
    }

    /** @param what backend, machine and types that are tested */
    static SelfTestRecord of(String what) {
        String folder = System.getProperty("strata.cache", "");
        String build = build();
        return folder.isEmpty() || build.isEmpty()
                ? new SelfTestRecord(null, "")
                : in(Path.of(folder), what + '\n' + build);
    }

    static SelfTestRecord in(Path folder, String key) {
        String name =
                UUID.nameUUIDFromBytes(key.getBytes(StandardCharsets.UTF_8)).toString();
        return new SelfTestRecord(folder.resolve("self-test"), name);
    }

    boolean passed() {
        return folder != null && Files.exists(folder.resolve(name));
    }

    void pass() {
        if (folder == null) {
            return;
        }
        try {
            Files.createDirectories(folder);
            Files.write(folder.resolve(name), new byte[0]);
        } catch (IOException e) {
            LOG.debug("the self-test will run again at the next start: {}", e.toString());
        }
    }

    /** Changes with every build; empty when it cannot be told. */
    private static String build() {
        CodeSource source = SelfTestRecord.class.getProtectionDomain().getCodeSource();
        if (source == null) {
            return "";
        }
        try {
            Path place = Path.of(source.getLocation().toURI());
            return Files.isRegularFile(place) ? place + " " + Files.getLastModifiedTime(place) : "";
        } catch (IOException | URISyntaxException e) {
            return "";
        }
    }
}
