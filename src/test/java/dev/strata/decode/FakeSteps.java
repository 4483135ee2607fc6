package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.device.fake.FakeDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.function.IntSupplier;

/** Steps of one row that compute nothing: their experts are drawn, brought and forgotten. */
final class FakeSteps implements ExpertGroups, AutoCloseable {
    private final FakeDevice device;
    private final DevicePlacement placement;
    private final int layers;
    private final int used;
    private final IntSupplier expert;
    private final Stream stream;
    private final Buffer ids;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment host;

    FakeSteps(FakeDevice device, DevicePlacement placement, int layers, int used, IntSupplier expert) {
        this.device = device;
        this.placement = placement;
        this.layers = layers;
        this.used = used;
        this.expert = expert;
        stream = device.newStream("steps");
        ids = device.allocate(4L * used, "routing");
        host = arena.allocate(4L * used, 64);
    }

    void step() {
        placement.enter(1, stream);
        placement.beginPass(1, stream);
        for (int layer = 0; layer < layers; layer++) {
            BitSet chosen = new BitSet();
            while (chosen.cardinality() < used) {
                chosen.set(expert.getAsInt());
            }
            int[] all = chosen.stream().toArray();
            stream.synchronize();
            MemorySegment.copy(all, 0, host, JAVA_INT, 0, used);
            device.copyToDevice(host, ids, 0, stream);
            placement.products(layer, this);
        }
        placement.endPass(stream);
        stream.synchronize();
        placement.settled();
    }

    @Override
    public int rows() {
        return 1;
    }

    @Override
    public Routing routing() {
        return new FakeRouting(1, used, ids);
    }

    @Override
    public Tensor input() {
        throw new UnsupportedOperationException("nothing is computed");
    }

    @Override
    public Stream stream() {
        return stream;
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

    @Override
    public void close() {
        stream.close();
        ids.close();
        arena.close();
    }
}
