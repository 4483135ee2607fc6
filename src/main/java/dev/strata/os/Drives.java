package dev.strata.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** What the system tells about the drive that a file lies on. */
public final class Drives {
    private static final Path BLOCK_DEVICES = Path.of("/sys/dev/block");

    private Drives() {}

    /** Whether the drive of {@code file} has spinning disks; empty where the system does not say (no Linux, network or memory file systems). */
    public static Optional<Boolean> isRotational(Path file) {
        try {
            if (Files.getAttribute(file, "unix:dev") instanceof Long device) {
                return rotational(BLOCK_DEVICES.resolve(major(device) + ":" + minor(device)));
            }
            return Optional.empty();
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException unknown) {
            return Optional.empty();
        }
    }

    /** Reads the queue of a device, or for a partition that of its disk. */
    static Optional<Boolean> rotational(Path device) throws IOException {
        if (!Files.exists(device)) {
            return Optional.empty();
        }
        Path real = device.toRealPath();
        for (Path folder : new Path[] {real, real.resolveSibling("")}) {
            Path flag = folder.resolve("queue/rotational");
            if (Files.exists(flag)) {
                return Optional.of(Files.readString(flag).strip().equals("1"));
            }
        }
        return Optional.empty();
    }

    static long major(long device) {
        return device >>> 8 & 0xfff | device >>> 32 & 0xfffff000L;
    }

    static long minor(long device) {
        return device & 0xff | device >>> 12 & 0xffffff00L;
    }
}
