package dev.strata.cuda;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;

/** Products and attention by warp groups against the reference, on a card that has them or emulated. */
class GroupTilesContractTest extends CudaOpsContractTest {
    @Override
    protected Backend create() {
        return Cards.openForGroups();
    }

    /** Emulated, a case with few rows or small heads says nothing new. */
    @Override
    protected boolean wanted(OpCase test) {
        String name = test.name();
        if (Cards.real()) {
            return name.matches(System.getProperty("strata.cases", ".*"));
        }
        return name.matches("attention .* heads of (64|128|256),.*F16.*")
                || name.matches("matmul (Q8_0|F32) (90|270) rows.*|matmul and add Q4_0 .*|matmul NVFP4 3 rows.*")
                || name.matches("experts (BF16|NVFP4|Q4_0) .*|experts, all .*|shared expert .*|hyper.*");
    }
}
