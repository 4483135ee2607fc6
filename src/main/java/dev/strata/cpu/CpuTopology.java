package dev.strata.cpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The cores behind the processors that a process may use, from {@code /sys/devices}: one processor of every core, performance cores
 * first where there are two kinds.
 *
 * @param performance one processor for every performance core
 * @param efficient one processor for every efficiency core; empty on processors of one kind
 */
public record CpuTopology(List<Integer> performance, List<Integer> efficient) {
    /** Which cores a pool takes. */
    public enum Choice {
        /** All cores in the order of their numbers. */
        ALL,
        /** All cores, performance cores first. */
        AUTO,
        /** Performance cores only. */
        P_CORES
    }

    /** The machine's. */
    public static CpuTopology read(BitSet allowed) {
        return read(Path.of("/sys/devices"), allowed);
    }

    /** As {@code devices} describes them; processors that it does not describe count as cores of their own. */
    static CpuTopology read(Path devices, BitSet allowed) {
        BitSet slow = list(devices.resolve("cpu_atom/cpus"));
        BitSet seen = new BitSet();
        List<Integer> performance = new ArrayList<>();
        List<Integer> efficient = new ArrayList<>();
        for (int cpu = allowed.nextSetBit(0); cpu >= 0; cpu = allowed.nextSetBit(cpu + 1)) {
            if (!seen.get(cpu)) {
                seen.set(cpu);
                seen.or(list(devices.resolve("system/cpu/cpu" + cpu + "/topology/thread_siblings_list")));
                (slow.get(cpu) ? efficient : performance).add(cpu);
            }
        }
        return performance.isEmpty()
                ? new CpuTopology(efficient, List.of())
                : new CpuTopology(List.copyOf(performance), List.copyOf(efficient));
    }

    /** One processor of every core that is chosen. */
    public List<Integer> cores(Choice choice) {
        List<Integer> cores = new ArrayList<>(performance);
        if (choice != Choice.P_CORES) {
            cores.addAll(efficient);
        }
        if (choice == Choice.ALL) {
            cores.sort(null);
        }
        return cores;
    }

    /** Numbers as the kernel writes them: {@code 0-3,8}. */
    private static BitSet list(Path file) {
        BitSet numbers = new BitSet();
        String text;
        try {
            text = Files.readString(file).strip();
        } catch (IOException absent) {
            return numbers;
        }
        for (String part : text.split(",")) {
            String[] ends = part.split("-");
            try {
                int first = Integer.parseInt(ends[0]);
                int last = ends.length > 1 ? Integer.parseInt(ends[1]) : first;
                numbers.set(first, last + 1);
            } catch (NumberFormatException unknown) {
                return new BitSet();
            }
        }
        return numbers;
    }
}
