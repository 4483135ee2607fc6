package dev.strata.decode;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;

/** Products of streamed passes that compute nothing: what remains is how fast experts come. */
public record NoProducts(Stream stream, int rows) implements ExpertGroups {
    @Override
    public Routing routing() {
        throw new UnsupportedOperationException("streams do not depend on the router");
    }

    @Override
    public Tensor input() {
        throw new UnsupportedOperationException("nothing is computed");
    }

    @Override
    public boolean capturing() {
        return false;
    }

    @Override
    public void run(int first, int count) {}

    @Override
    public void others(Buffer results, long offset) {
        throw new UnsupportedOperationException("nothing is computed");
    }

    @Override
    public void nothing() {}
}
