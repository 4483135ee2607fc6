package dev.strata.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ProcessClockTest {
    @Test
    void countsFromTheStartTicksWhateverTheProgramIsCalled() {
        String stat = "4711 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 120050 999 1 2";
        assertEquals(Duration.ofMillis(34_060), ProcessClock.sinceStart(stat, "1234.56 2000.00\n"));
    }

    @Test
    void agreesWithTheVirtualMachineAboutThisProcess() {
        long virtualMachine = ManagementFactory.getRuntimeMXBean().getUptime();
        long process = ProcessClock.sinceStart().orElseThrow().toMillis();
        assertTrue(
                process >= virtualMachine - 20 && process < virtualMachine + 5_000,
                process + " ms against " + virtualMachine + " ms of the virtual machine");
    }
}
