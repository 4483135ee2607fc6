package dev.strata.decode;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.strata.device.Buffer;
import dev.strata.device.ExpertGroups;
import dev.strata.device.ExpertPlacement;
import dev.strata.device.MissShare;
import dev.strata.device.Routing;
import dev.strata.device.Stream;
import dev.strata.device.Tensor;
import dev.strata.device.fake.FakeBuffer;
import dev.strata.device.fake.FakeDevice;
import dev.strata.expert.PatternSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Passes of a backend whose products only check that they read the right blobs. */
final class FakePass implements AutoCloseable {
    private final FakeDevice device;
    private final ExpertPlacement placement;
    private final int layers;
    private final int used;
    private final Stream stream;
    private final Buffer ids;
    private final Arena arena = Arena.ofShared();
    private final List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    private final List<Buffer> made = new ArrayList<>();
    private long products;
    private long scribbled;
    private boolean misleads;

    FakePass(FakeDevice device, ExpertPlacement placement, int layers, int used, int mostRows) {
        this.device = device;
        this.placement = placement;
        this.layers = layers;
        this.used = used;
        stream = device.newStream("compute");
        ids = device.allocate(4L * mostRows * used, "routing");
    }

    List<String> wrong() {
        return wrong;
    }

    /** Experts that products read. */
    long products() {
        return products;
    }

    Stream stream() {
        return stream;
    }

    /** A pass whose rows choose experts at random. */
    void run(int rows, RandomGenerator random) {
        run(rows, random, layers);
    }

    /** A pass that is given up before layer {@code until}. */
    void run(int rows, RandomGenerator random, int until) {
        placement.enter(rows, stream);
        long lent = placement.lentMemory();
        if (lent != 0 && scribbled > 0) {
            device.launch(
                    stream,
                    () -> MemorySegment.ofAddress(lent).reinterpret(scribbled).fill((byte) 0xab));
        }
        placement.beginPass(rows, stream);
        placement.capturable(rows);
        try {
            int[] chosen = choose(0, rows, random);
            for (int layer = 0; layer < until; layer++) {
                int[] following = layer + 1 < until ? choose(layer + 1, rows, random) : new int[0];
                route(chosen);
                Groups groups = new Groups(layer, rows, chosen, misleads ? new int[0] : following);
                chosen = following;
                placement.products(layer, groups);
                groups.finish();
            }
        } finally {
            placement.endPass(stream);
        }
        stream.synchronize();
        made.forEach(Buffer::close);
        made.clear();
        placement.settled();
    }

    /** Passes that borrow memory for their activations write into all of it. */
    void scribble(long bytes) {
        scribbled = bytes;
    }

    /** From now on guesses know nothing of what is chosen. */
    void mislead() {
        misleads = true;
    }

    private int[] choose(int layer, int rows, RandomGenerator random) {
        int experts = placement.layout(layer).experts();
        int[] chosen = new int[rows * used];
        for (int row = 0; row < rows; row++) {
            int first = random.nextInt(experts);
            for (int i = 0; i < used; i++) {
                chosen[row * used + i] = (first + i * (1 + first % 2)) % experts;
            }
        }
        return chosen;
    }

    private void route(int[] chosen) {
        MemorySegment host = arena.allocate(4L * chosen.length);
        MemorySegment.copy(chosen, 0, host, JAVA_INT, 0, chosen.length);
        device.copyToDevice(host, ids, 0, stream);
    }

    @Override
    public void close() {
        made.forEach(Buffer::close);
        stream.close();
        ids.close();
        arena.close();
    }

    private final class Groups implements ExpertGroups {
        private final int layer;
        private final int rows;
        private final int[] chosen;
        private final int[] following;
        private final long table;
        private final Set<Integer> leftOut = new HashSet<>();
        private @Nullable MemorySegment others;
        private int covered;
        private @Nullable FakeMeeting meeting;

        Groups(int layer, int rows, int[] chosen, int[] following) {
            this.layer = layer;
            this.rows = rows;
            this.chosen = chosen;
            this.following = following;
            table = placement.addresses(layer).address();
        }

        @Override
        public int rows() {
            return rows;
        }

        @Override
        public Routing routing() {
            return new FakeRouting(rows, used, ids);
        }

        /** Every row has its number in front. */
        @Override
        public Tensor input() {
            int hidden = placement.layout(layer).hidden();
            MemorySegment values = arena.allocate(4L * rows * hidden);
            for (int row = 0; row < rows; row++) {
                values.set(JAVA_FLOAT, 4L * hidden * row, row);
            }
            Tensor made = tensor(rows, hidden);
            device.copyToDevice(values, made.buffer(), 0, stream);
            return made;
        }

        private Tensor tensor(int count, int columns) {
            Buffer buffer = device.allocate(4L * count * columns, "fake tensor");
            made.add(buffer);
            return new Tensor(buffer, 0, count, columns);
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
        public void others(Buffer results, long offset) {
            if (covered > 0) {
                wrong.add("layer " + layer + " was begun before it was known that others compute");
            }
            others = results.host().asSlice(offset);
        }

        @Override
        public void nothing() {
            throw new UnsupportedOperationException("placements hold experts");
        }

        /** Sums up: what has no address comes from the results of others, and nothing else does. */
        void finish() {
            MemorySegment results = others;
            int hidden = placement.layout(layer).hidden();
            int experts = placement.layout(layer).experts();
            device.launch(stream, () -> {
                MemorySegment addresses = MemorySegment.ofAddress(table).reinterpret(8L * experts);
                for (int pair = 0; pair < chosen.length; pair++) {
                    int expert = chosen[pair];
                    boolean left = leftOut.contains(expert);
                    if (left && results == null) {
                        wrong.add("layer " + layer + " expert " + expert + " has no address");
                    } else if (results != null && left != (addresses.getAtIndex(JAVA_LONG, expert) == 0)) {
                        wrong.add("layer " + layer + " expert " + expert + " is not summed where it was computed");
                    } else if (left && results != null) {
                        float value = results.get(JAVA_FLOAT, 4L * hidden * pair);
                        if (value != FakeWorkers.result(expert, pair / used)) {
                            wrong.add("layer " + layer + " expert " + expert + " has the result " + value);
                        }
                    }
                }
            });
        }

        @Override
        public void run(int first, int count) {
            if (first != covered) {
                wrong.add("layer " + layer + " goes on at " + first + " instead of " + covered);
            }
            covered = first + count;
            int experts = placement.layout(layer).experts();
            device.launch(stream, () -> {
                MemorySegment addresses = MemorySegment.ofAddress(table).reinterpret(8L * experts);
                for (int expert : chosen) {
                    if (expert >= first && expert < first + count) {
                        products++;
                        if (meeting == null || !meeting.processorHas(expert)) {
                            check(expert, addresses.getAtIndex(JAVA_LONG, expert));
                        }
                    }
                }
            });
        }

        @Override
        public void share(MissShare share) {
            FakeMeeting made = new FakeMeeting(share, chosen, rows, following);
            meeting = made;
            device.launch(stream, made::share);
        }

        @Override
        public void answer(MissShare share) {
            device.launch(
                    stream,
                    () -> wrong.addAll(java.util.Objects.requireNonNull(meeting).await()));
        }

        private void check(int expert, long address) {
            if (address == 0) {
                leftOut.add(expert);
                return;
            }
            MemorySegment blob = MemorySegment.ofAddress(address)
                    .reinterpret(placement.layout(layer).blobBytes());
            if (!PatternSource.holds(placement.layout(layer), layer, expert, blob)) {
                wrong.add("layer " + layer + " expert " + expert + " holds something else");
            }
        }
    }

    /** What the device memory of a buffer holds. */
    static MemorySegment contents(Buffer buffer) {
        return ((FakeBuffer) buffer).contents();
    }
}
