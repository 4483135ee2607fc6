package dev.strata.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CpuTopologyTest {
    @TempDir
    private Path devices;

    @Test
    void oneProcessorOfEveryCore() throws IOException {
        for (int cpu = 0; cpu < 8; cpu++) {
            siblings(cpu, cpu % 4 + "," + (cpu % 4 + 4));
        }
        CpuTopology topology = CpuTopology.read(devices, allowed(8));
        assertEquals(List.of(0, 1, 2, 3), topology.cores(CpuTopology.Choice.AUTO));
        BitSet some = new BitSet();
        some.set(2, 7);
        assertEquals(List.of(2, 3, 4, 5), CpuTopology.read(devices, some).cores(CpuTopology.Choice.ALL));
    }

    @Test
    void performanceCoresComeFirst() throws IOException {
        siblings(0, "0");
        siblings(1, "1");
        siblings(2, "2-3");
        siblings(3, "2-3");
        Files.createDirectories(devices.resolve("cpu_atom"));
        Files.writeString(devices.resolve("cpu_atom/cpus"), "0-1\n");
        CpuTopology topology = CpuTopology.read(devices, allowed(4));
        assertEquals(List.of(2, 0, 1), topology.cores(CpuTopology.Choice.AUTO));
        assertEquals(List.of(0, 1, 2), topology.cores(CpuTopology.Choice.ALL));
        assertEquals(List.of(2), topology.cores(CpuTopology.Choice.P_CORES));
    }

    @Test
    void processorsThatNobodyDescribesAreCores() {
        assertEquals(List.of(0, 1, 2), CpuTopology.read(devices, allowed(3)).cores(CpuTopology.Choice.AUTO));
    }

    private static BitSet allowed(int count) {
        BitSet all = new BitSet();
        all.set(0, count);
        return all;
    }

    private void siblings(int cpu, String list) throws IOException {
        Path folder = Files.createDirectories(devices.resolve("system/cpu/cpu" + cpu + "/topology"));
        Files.writeString(folder.resolve("thread_siblings_list"), list + "\n");
    }
}
