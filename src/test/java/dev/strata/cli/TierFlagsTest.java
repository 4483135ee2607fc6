package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.ConfigurationException;
import dev.strata.config.TierOptions;
import dev.strata.config.TierOptions.NgramAccess;
import dev.strata.config.TierOptions.Residence;
import dev.strata.config.Variables;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Flags of the memory tiers. */
class TierFlagsTest {
    @Test
    void withoutFlagsEverythingIsAsByDefault() {
        assertEquals(TierOptions.DEFAULTS, options(""));
    }

    @Test
    void theCommandLineThatComparesSettingsStarts() {
        Variables variables = Variables.read(Map.of(
                "STRATA_PREFILL_CPU_SHARE", "0",
                "STRATA_PCIE_BALANCE", "0",
                "STRATA_IQ_MT_MIN", "1",
                "STRATA_ARENA_PIN_GIB", "none"));
        StringWriter told = new StringWriter();
        int code = StrataCommand.run(
                ("--serve --model none.gguf --expert-cache auto --vram-reserve-mib 2048 --prefill auto --spec 6 --spec-min-p 0.7"
                                + " --max-context 262144 --kv int8 --expert-cache 3000 --pcie-frac 0 --adapt-every 1000000")
                        .split(" "),
                new PrintWriter(new StringWriter()),
                new PrintWriter(told, true));
        assertEquals(CommandLine.ExitCode.USAGE, code);
        assertTrue(told.toString().contains("none.gguf does not exist"), "only the file is missing: " + told);
        TierOptions identity = options(
                "--expert-cache auto --vram-reserve-mib 2048 --prefill auto --expert-cache 3000 --pcie-frac 0 --adapt-every 1000000",
                variables);
        assertEquals(3000, identity.cacheSlots());
        assertEquals(2048, identity.vramReserveMib());
        assertEquals(Optional.of("auto"), identity.prefill());
        assertEquals(1_000_000, identity.adaptation().every());
    }

    @Test
    void oneTierCanBeChosen() {
        assertEquals(Residence.LOW_RAM, options("--low-ram").residence());
        assertEquals(Residence.MAPPED, options("--mmap-experts").residence());
        assertEquals(Residence.RESIDENT, options("--resident-experts").residence());
        assertEquals(18, options("--resident-budget-gib 18").residentBudgetGib());
        assertFalse(options("--no-prefill-borrow").borrow());
        assertThrows(ConfigurationException.class, () -> options("--low-ram --resident-experts"));
        assertThrows(ConfigurationException.class, () -> options("--mmap-experts --resident-budget-gib 4"));
    }

    @Test
    void helperCardsWithABudgetAreRefusedWithTheReason() {
        String budget = String.valueOf(assertThrows(
                        ConfigurationException.class,
                        () -> options("--resident-budget-gib 16 --expert-cache-device1 4000"))
                .getMessage());
        assertTrue(budget.contains("STRATA_RESIDENT_REMOTE=1"), budget);
        assertTrue(options("--expert-cache-device2 4000").notice().orElseThrow().contains("come in a later version"));
        TierOptions both = options(
                "--resident-budget-gib 16 --expert-cache-device1 4000",
                Variables.read(Map.of("STRATA_RESIDENT_REMOTE", "1")));
        assertEquals(16, both.residentBudgetGib());
        assertTrue(both.notice().isPresent());
        assertTrue(options("").notice().isEmpty());
    }

    @Test
    void missesAreSharedAsTheFlagsSay() {
        assertEquals(TierOptions.Misses.DEFAULTS, options("").misses());
        TierOptions.Misses misses = options("--pcie-frac 0.25 --pool-workers 3 --pool-affinity p-cores")
                .misses();
        assertEquals(0.25, misses.linkShare().orElseThrow());
        assertEquals(3, misses.poolWorkers());
        assertEquals(TierOptions.PoolAffinity.P_CORES, misses.affinity());
    }

    @Test
    void rowsOfTheTableAreReadWhereTheFlagSays() {
        assertEquals(NgramAccess.AUTO, options("").ngram());
        assertEquals(NgramAccess.DIRECT, options("--ple-io direct").ngram());
        assertEquals(NgramAccess.MMAP, options("--ple-io mmap").ngram());
        assertEquals(NgramAccess.RAM, options("--ple-io ram").ngram());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--expert-cache many",
                "--expert-cache 0",
                "--prefill big",
                "--prefill auto:99999",
                "--pcie-frac 2",
                "--pcie-frac some",
                "--pool-workers -1",
                "--pool-affinity fast",
                "--adapt-every 0",
                "--adapt-decay 1.5",
                "--adapt-min-gain 0.5",
                "--vram-limit-gib -1",
                "--gpu -1"
            })
    void otherValuesAreRefusedByName(String flags) {
        String message = String.valueOf(
                assertThrows(ConfigurationException.class, () -> options(flags)).getMessage());
        assertTrue(message.contains(flags.substring(0, flags.indexOf(' '))), message);
    }

    private static TierOptions options(String flags) {
        return options(flags, Variables.defaults());
    }

    private static TierOptions options(String flags, Variables variables) {
        TierFlags parsed = new TierFlags();
        new CommandLine(new Holder(parsed))
                .setOverwrittenOptionsAllowed(true)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .parseArgs(flags.isEmpty() ? new String[0] : flags.split(" "));
        return parsed.options(variables);
    }

    /** A command that has only these flags. */
    @CommandLine.Command
    private record Holder(@CommandLine.Mixin TierFlags flags) {}
}
