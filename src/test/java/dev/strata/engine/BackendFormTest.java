package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.strata.config.Variables;
import dev.strata.cuda.DecodeForm;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BackendFormTest {
    @Test
    void theVariableNamesTheFormOfDecodePasses() {
        assertEquals(DecodeForm.AUTO, Backends.form(Variables.defaults()));
        assertEquals(DecodeForm.FUSED, Backends.form(Variables.read(Map.of("STRATA_DECODE_FORM", "fused"))));
    }
}
