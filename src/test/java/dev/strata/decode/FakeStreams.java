package dev.strata.decode;

import dev.strata.device.ExpertGroups;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.device.fake.FakeDevice;

/** Products of streamed passes that compute nothing. */
record FakeStreams(Stream stream) implements ExpertGroups, AutoCloseable {
    FakeStreams(FakeDevice device) {
        this(device.newStream("products"));
    }

    @Override
    public int rows() {
        return 8192;
    }

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
    public Tensor results() {
        throw new UnsupportedOperationException("nothing is computed");
    }

    @Override
    public void close() {
        stream.close();
    }
}
