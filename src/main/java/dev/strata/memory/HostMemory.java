package dev.strata.memory;

import java.nio.file.Path;

/**
 * The host's memory and every limit on it, in bytes; {@link Long#MAX_VALUE} where there is no limit.
 *
 * @param physical installed RAM
 * @param available what the kernel could give without swapping
 * @param cgroupFree room below the tightest control group limit up the tree; pages of files that can be dropped count as free
 * @param cgroup the group with that limit, empty when there is none
 * @param lockLimit RLIMIT_MEMLOCK
 * @param commitFree room below the commit limit, when the kernel enforces one (vm.overcommit_memory 2)
 */
public record HostMemory(
        long physical, long available, long cgroupFree, String cgroup, long lockLimit, long commitFree) {
    /** Limits of this process. */
    public static HostMemory read() {
        return read(Path.of("/"));
    }

    /** Limits as found in {@code proc} and {@code sys} below {@code root}; tests give a tree of their own. */
    public static HostMemory read(Path root) {
        ProcFiles files = new ProcFiles(root);
        ControlGroups.Tightest tightest = new ControlGroups(files).tightest();
        long physical =
                files.meminfo("MemTotal").orElseGet(() -> Runtime.getRuntime().maxMemory());
        long available = files.meminfo("MemAvailable").orElse(physical);
        long commitFree = Long.MAX_VALUE;
        if (files.line("proc/sys/vm/overcommit_memory").equals("2")) {
            commitFree = Math.max(
                    0,
                    files.meminfo("CommitLimit").orElse(Long.MAX_VALUE)
                            - files.meminfo("Committed_AS").orElse(0L));
        }
        return new HostMemory(
                physical, available, tightest.free(), tightest.name(), files.lockedMemoryLimit(), commitFree);
    }

    /** What can be allocated and kept in RAM now. */
    public long usable() {
        return Math.min(Math.min(available, cgroupFree), commitFree);
    }

    /** The limit that {@link #usable} comes from, in words. */
    public String tightest() {
        if (usable() == available) {
            return "available RAM";
        }
        return usable() == cgroupFree ? "the memory limit of control group " + cgroup : "the kernel's commit limit";
    }
}
