package dev.strata.device.reference;

import dev.strata.device.Backend;
import dev.strata.device.OpCase;
import dev.strata.device.OpsContract;

/** The reference on many threads gives the same bits as on one. */
class ReferenceOpsContractTest extends OpsContract {
    @Override
    protected Backend create() {
        return ReferenceBackend.create(4);
    }

    @Override
    protected double tolerance(OpCase.Kind kind) {
        return 0;
    }
}
