package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.cpu.CpuBackend;
import dev.strata.device.Backend;
import dev.strata.device.DeviceException;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SelfTestTest {
    private static ModelFiles tiny() {
        return ModelFileOpener.open(Path.of("models/strata-tiny/strata-tiny.gguf"));
    }

    @Test
    void goodKernelsPassForEveryTypeOfTheModel() {
        try (ModelFiles files = tiny();
                Backend reference = ReferenceBackend.create(1)) {
            Set<QuantType> types = SelfTest.run(files, reference);
            assertTrue(types.size() > 1, types.toString());
            assumeTrue(CpuBackend.isAvailable(), CpuBackend.reason());
            try (Backend cpu = CpuBackend.create()) {
                assertEquals(types, SelfTest.run(files, cpu));
            }
        }
    }

    @Test
    void aPassIsRememberedForTheSameMachineAndBuild(@TempDir Path folder) {
        SelfTestRecord record = SelfTestRecord.in(folder, "a machine");
        assertFalse(record.passed());
        record.pass();
        assertTrue(SelfTestRecord.in(folder, "a machine").passed());
        assertFalse(SelfTestRecord.in(folder, "another machine").passed());
    }

    @Test
    void wrongKernelsRefuseToServeAndNameTheType() {
        try (ModelFiles files = tiny()) {
            for (float wrong : new float[] {0, Float.NaN, 3}) {
                DeviceException error = assertThrows(
                        DeviceException.class,
                        () -> SelfTest.run(files, "a bad card", (matrix, row) -> {
                            float[] result = new float[matrix.outputs()];
                            java.util.Arrays.fill(result, wrong);
                            return result;
                        }));
                assertTrue(
                        String.valueOf(error.getMessage()).startsWith("self-test: a bad card multiplies "),
                        error.getMessage());
            }
        }
    }
}
