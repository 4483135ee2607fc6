package dev.strata.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class VariablesTest {
    @ParameterizedTest
    @EnumSource(Variable.class)
    void everyRowIsComplete(Variable variable) {
        assertTrue(variable.key().matches("STRATA_[A-Z0-9_]+"), variable.key());
        assertFalse(variable.meaning().isBlank(), variable.key());
        String standard = variable.standard();
        assertTrue(
                standard == null || variable.kind().accepts(standard),
                variable.key() + " does not accept its own default " + standard);
    }

    @Test
    void namesAreUnique() {
        List<String> keys = Arrays.stream(Variable.values()).map(Variable::key).toList();
        assertEquals(keys.size(), new HashSet<>(keys).size());
    }

    @ParameterizedTest
    @EnumSource(Variable.class)
    void everyRowIsExplainedInTheTuningGuide(Variable variable) throws IOException {
        String guide = Files.readString(Path.of("docs/tuning.md"));
        assertTrue(guide.contains("`" + variable.key() + "`"), variable.key() + " has no row in docs/tuning.md");
    }

    @Test
    void valuesComeFromTheEnvironmentAndDefaultsFillIn() {
        Variables variables = Variables.read(Map.of("STRATA_WATCHDOG_S", " 12 ", "STRATA_CPU_ISA", "", "HOME", "/"));
        assertEquals(12, variables.whole(Variable.WATCHDOG_S).getAsLong());
        assertTrue(variables.isSet(Variable.WATCHDOG_S));
        assertFalse(variables.isSet(Variable.CPU_ISA));
        assertTrue(variables.text(Variable.CPU_ISA).isEmpty());
        assertEquals(0.5, variables.real(Variable.BATCH_DECODE_SHARE).getAsDouble());
    }

    @Test
    void aWrongValueNamesTheVariableAndWhatItAccepts() {
        ConfigurationException error = assertThrows(
                ConfigurationException.class, () -> Variables.read(Map.of("STRATA_BATCH_DECODE_SHARE", "much")));
        assertEquals(
                "STRATA_BATCH_DECODE_SHARE=much cannot be used: it accepts a number from 0.0 to 0.95",
                error.getMessage());
    }

    @Test
    void unknownNamesAreReportedWithTheNearest() {
        assertEquals(
                List.of("STRATA_WATCHDOGS (nearest known: STRATA_WATCHDOG_S)"),
                Variables.unknown(Map.of("STRATA_WATCHDOGS", "1", "PATH", "x")));
    }
}
