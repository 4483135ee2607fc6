package dev.strata.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits read from made-up trees of the kernel's files. */
class HostMemoryTest {
    @TempDir
    Path root;

    @BeforeEach
    void machine() throws IOException {
        write("proc/meminfo", """
                MemTotal:       65536000 kB
                MemFree:         1000000 kB
                MemAvailable:   60000000 kB
                CommitLimit:    40000000 kB
                Committed_AS:   10000000 kB
                """);
        write("proc/sys/vm/overcommit_memory", "0\n");
        write("proc/self/limits", """
                Limit                     Soft Limit           Hard Limit           Units
                Max locked memory         8388608              8388608              bytes
                Max address space         unlimited            unlimited            bytes
                """);
    }

    @Test
    void aBareMachineIsLimitedByItsRam() {
        HostMemory memory = HostMemory.read(root);
        assertEquals(65536000L << 10, memory.physical());
        assertEquals(60000000L << 10, memory.usable());
        assertEquals(8388608, memory.lockLimit());
        assertEquals(Long.MAX_VALUE, memory.cgroupFree());
        assertEquals("available RAM", memory.tightest());
    }

    @Test
    void theTightestGroupUpTheTreeCounts() throws IOException {
        write("proc/self/cgroup", "0::/user.slice/app.scope\n");
        group("sys/fs/cgroup/user.slice/app.scope", "max", 5_000, 0);
        group("sys/fs/cgroup/user.slice", "20000000000", 9_000_000_000L, 4_000_000_000L);
        group("sys/fs/cgroup", "max", 0, 0);
        HostMemory memory = HostMemory.read(root);
        assertEquals(15_000_000_000L, memory.cgroupFree());
        assertEquals("/user.slice", memory.cgroup());
        assertEquals(15_000_000_000L, memory.usable());
        assertTrue(memory.tightest().contains("/user.slice"));
    }

    @Test
    void aTightParentBeatsALooserChild() throws IOException {
        write("proc/self/cgroup", "0::/a/b\n");
        group("sys/fs/cgroup/a/b", "30000000000", 1_000_000_000L, 0);
        group("sys/fs/cgroup/a", "10000000000", 2_000_000_000L, 500_000_000L);
        assertEquals(8_500_000_000L, HostMemory.read(root).cgroupFree());
    }

    @Test
    void insideAContainerTheMountIsTheOwnGroup() throws IOException {
        write("proc/self/cgroup", "0::/docker/0123abcd\n");
        group("sys/fs/cgroup", "4294967296", 1_073_741_824, 1_000_000_000);
        HostMemory memory = HostMemory.read(root);
        assertEquals(4_294_967_296L - 73_741_824, memory.cgroupFree());
        assertEquals("/", memory.cgroup());
    }

    @Test
    void versionOneIsReadToo() throws IOException {
        write("proc/self/cgroup", "9:memory:/lxc/one\n5:cpu,cpuacct:/lxc/one\n");
        String own = "sys/fs/cgroup/memory/lxc/one/";
        write(own + "memory.limit_in_bytes", "8000000000\n");
        write(own + "memory.usage_in_bytes", "3000000000\n");
        write(own + "memory.stat", "inactive_file 1\ntotal_inactive_file 1000000000\n");
        write("sys/fs/cgroup/memory/lxc/memory.limit_in_bytes", "9223372036854771712\n");
        HostMemory memory = HostMemory.read(root);
        assertEquals(6_000_000_000L, memory.cgroupFree());
        assertEquals("/lxc/one", memory.cgroup());
    }

    @Test
    void anOverdrawnGroupHasNoRoom() throws IOException {
        write("proc/self/cgroup", "0::/\n");
        group("sys/fs/cgroup", "1000", 2_000, 0);
        assertEquals(0, HostMemory.read(root).usable());
    }

    @Test
    void theCommitLimitHoldsWhenItIsEnforced() throws IOException {
        assertEquals(Long.MAX_VALUE, HostMemory.read(root).commitFree());
        write("proc/sys/vm/overcommit_memory", "2\n");
        HostMemory memory = HostMemory.read(root);
        assertEquals(30000000L << 10, memory.usable());
        assertEquals("the kernel's commit limit", memory.tightest());
    }

    @Test
    void thisProcessHasMemory() {
        HostMemory memory = HostMemory.read();
        assertTrue(memory.physical() > 0 && memory.usable() > 0);
    }

    private void group(String folder, String limit, long current, long inactive) throws IOException {
        write(folder + "/memory.max", limit + "\n");
        write(folder + "/memory.current", current + "\n");
        write(folder + "/memory.stat", "anon 1\ninactive_file " + inactive + "\n");
    }

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
