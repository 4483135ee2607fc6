package dev.strata.model;

import dev.strata.device.Backend;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;

class ReferenceLogitsTest extends LogitsContract {
    ReferenceLogitsTest() {
        super(KvFormat.F32, 2e-4, 1e-3);
    }

    @Override
    Backend backend() {
        return ReferenceBackend.create(2);
    }
}
