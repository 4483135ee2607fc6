package dev.strata.os;

import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decides once which system services this process has. */
final class SystemChoice {
    private static final Logger LOG = LoggerFactory.getLogger(SystemChoice.class);

    static final OperatingSystem CURRENT = choose(System.getProperty("os.name", ""));

    private SystemChoice() {}

    static OperatingSystem choose(String osName) {
        if (!osName.toLowerCase(Locale.ROOT).contains("linux")) {
            return fallback("no native services are written for " + osName);
        }
        try {
            return new LinuxSystem();
        } catch (RuntimeException | LinkageError failure) {
            return fallback("the C library cannot be called (" + failure.getMessage()
                    + "); start Java with --enable-native-access=ALL-UNNAMED");
        }
    }

    private static OperatingSystem fallback(String reason) {
        LOG.warn("no huge pages, page locks or thread affinity: {}", reason);
        return new PortableSystem(reason);
    }
}
