package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;

/** The same operations as phases of a kernel that stays: all on a card, one of every kind on emulated kernels. */
class PersistentOpsTest extends FusedOpsTest {
    private static final String EMULATED = String.join(
            "|",
            "fused products .*Q4_K.* of 3 rows .*",
            "fused products .* of 8192.*",
            "fused route of 12 rows to 10 .*",
            "fused experts (NVFP4 and Q6_K|Q4_K and Q4_K), 3 rows.*",
            "fused attention a window of rows, F16");

    @Override
    protected Backend create() {
        return Cards.open(
                CudaOptions.defaults().withForm(DecodeForm.PERSISTENT).withDecodeBlocks(Cards.real() ? 0 : 2));
    }

    @Override
    protected boolean wanted(OpCase test) {
        boolean asked = Cards.real() || System.getProperty("strata.cases") != null;
        return super.wanted(test) && (asked || test.name().matches(EMULATED));
    }
}
