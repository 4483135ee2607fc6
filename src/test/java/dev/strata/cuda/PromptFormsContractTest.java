package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;

/** What prompts compute on tensor cores in their own way: the delta rule in chunks, scores of the block selector, products with weights as stored. */
class PromptFormsContractTest extends CudaOpsContractTest {
    @Override
    protected Backend create() {
        return Cards.open(CudaOptions.defaults());
    }

    @Override
    protected boolean wanted(OpCase test) {
        String quick = "delta net .* 128 x 128, .*66 rows|sparse .* heads of 128, .*"
                + "|experts (NVFP4|Q4_K) .*40 rows|experts, all 140 rows .*|matmul all .Q4_K.*40 rows|shared expert Q8_0, 65 rows";
        return test.name().matches(Cards.real() ? "delta net .*|sparse .*|hyper.*" : quick);
    }
}
