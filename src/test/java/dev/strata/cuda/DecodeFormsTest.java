package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DecodeFormsTest {
    @Test
    void plainModelsWithAllExpertsUseSeparateKernels() {
        DecodeForms forms = new DecodeForms(CudaOptions.defaults());
        assertFalse(forms.fused());
        forms.missingExperts(true);
        assertTrue(forms.fused());
        forms.missingExperts(false);
        forms.recurrentLayers();
        assertTrue(forms.fused());
    }

    @Test
    void whatIsAskedForIsUsedUnlessOneOrderOfSummationIs() {
        CudaOptions options = CudaOptions.defaults();
        assertFalse(new DecodeForms(options.withForm(DecodeForm.SEPARATE)).fused());
        assertTrue(new DecodeForms(options.withForm(DecodeForm.FUSED)).fused());
        assertFalse(new DecodeForms(options.withForm(DecodeForm.FUSED).withDeterministic(true)).fused());
    }
}
