package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;

/** What prompts compute on tensor cores in their own way: the delta rule in chunks, scores of the block selector. */
class PromptFormsContractTest extends CudaOpsContractTest {
    @Override
    protected Backend create() {
        return Cards.open(CudaOptions.defaults());
    }

    @Override
    protected boolean wanted(OpCase test) {
        String quick = "delta net .* 128 x 128, .*66 rows|sparse .* heads of 128, .*";
        return test.name().matches(Cards.real() ? "delta net .*|sparse .*|hyper.*" : quick);
    }
}
