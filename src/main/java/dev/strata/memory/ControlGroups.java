package dev.strata.memory;

import java.util.OptionalLong;

/**
 * Memory limits of control groups, version 1 and 2. Every group from the process's own up to the root is looked at: a limit of a
 * parent holds even when the own group has none. What a group uses is its charge without inactive file pages, because these are
 * dropped before anything is refused. Inside a container the path of the process may not exist below the mount; the mount's root is
 * its own group then.
 */
final class ControlGroups {
    /** Room below the tightest limit. */
    record Tightest(long free, String name) {
        static final Tightest NONE = new Tightest(Long.MAX_VALUE, "");
    }

    private static final String MOUNT = "sys/fs/cgroup";

    private final ProcFiles files;

    ControlGroups(ProcFiles files) {
        this.files = files;
    }

    Tightest tightest() {
        Tightest tightest = Tightest.NONE;
        for (String line : files.lines("proc/self/cgroup")) {
            String[] parts = line.split(":", 3);
            if (parts.length < 3) {
                continue;
            }
            if (parts[0].equals("0") && parts[1].isEmpty()) {
                tightest = tighter(tightest, walk(MOUNT, parts[2], "memory.max", "memory.current", "inactive_file"));
            } else if (parts[1].equals("memory")) {
                tightest = tighter(
                        tightest,
                        walk(
                                MOUNT + "/memory",
                                parts[2],
                                "memory.limit_in_bytes",
                                "memory.usage_in_bytes",
                                "total_inactive_file"));
            }
        }
        return tightest;
    }

    private Tightest walk(String mount, String path, String limitFile, String usageFile, String inactiveKey) {
        String group = files.exists(mount + path) ? path : "/";
        Tightest tightest = Tightest.NONE;
        while (true) {
            String folder = mount + (group.equals("/") ? "" : group) + "/";
            OptionalLong limit = files.number(folder + limitFile);
            if (limit.isPresent() && limit.getAsLong() < unlimited()) {
                long used = files.number(folder + usageFile).orElse(0)
                        - files.keyed(folder + "memory.stat", inactiveKey).orElse(0);
                long free = Math.max(0, limit.getAsLong() - Math.max(0, used));
                tightest = tighter(tightest, new Tightest(free, group));
            }
            if (group.equals("/")) {
                return tightest;
            }
            int slash = group.lastIndexOf('/');
            group = slash <= 0 ? "/" : group.substring(0, slash);
        }
    }

    /** Version 1 writes "no limit" as the largest multiple of the page size. */
    private static long unlimited() {
        return Long.MAX_VALUE - (1 << 20);
    }

    private static Tightest tighter(Tightest left, Tightest right) {
        return right.free < left.free ? right : left;
    }
}
