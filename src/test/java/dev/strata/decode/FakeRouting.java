package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;

/** Choices of experts as placements see them. */
record FakeRouting(int rows, int used, Buffer ids) implements Routing {
    @Override
    public Tensor weights() {
        throw new UnsupportedOperationException("placements have no use for weights");
    }
}
