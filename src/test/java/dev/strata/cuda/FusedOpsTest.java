package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;

/** The fused operations, on emulated kernels too: they are few and small. */
class FusedOpsTest extends CudaOpsContractTest {
    @Override
    protected Backend create() {
        return Cards.open(CudaOptions.defaults()
                .withForm(DecodeForm.FUSED)
                .withTensorCores(TensorCores.valueOf(System.getProperty("strata.tensor.cores", "AUTO"))));
    }

    @Override
    protected boolean wanted(OpCase test) {
        return test.name().startsWith("fused ") && super.wanted(test);
    }
}
