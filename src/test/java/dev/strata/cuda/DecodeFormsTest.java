package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DecodeFormsTest {
    @Test
    void fusedKernelsAreUsedUnlessOneOrderOfSummationIs() {
        CudaOptions options = CudaOptions.defaults();
        assertTrue(new DecodeForms(options).fused());
        assertFalse(new DecodeForms(options.withDeterministic(true)).fused());
        assertFalse(new DecodeForms(options.withPrecision(Precision.F32)).fused());
    }

    @Test
    void whatIsAskedForIsUsedUnlessOneOrderOfSummationIs() {
        CudaOptions options = CudaOptions.defaults();
        assertFalse(new DecodeForms(options.withForm(DecodeForm.SEPARATE)).fused());
        assertTrue(new DecodeForms(options.withForm(DecodeForm.FUSED)).fused());
        assertFalse(new DecodeForms(options.withForm(DecodeForm.FUSED).withDeterministic(true)).fused());
    }
}
