package dev.strata.cuda;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Time on the card by kernel, from events around every launch. Passes are neither captured nor overlapped while it is on. */
final class KernelTimes implements AutoCloseable {
    private record Launch(String kernel, CudaEvent before, CudaEvent after) {}

    private static final class Sum {
        private int launches;
        private double milliseconds;
    }

    private final CudaStream stream;
    private final List<Launch> launches = new ArrayList<>();
    private final Map<String, Sum> sums = new HashMap<>();

    KernelTimes(CudaStream stream) {
        this.stream = stream;
    }

    void before(Kernel kernel) {
        Launch launch = new Launch(kernel.name(), CudaEvent.create(), CudaEvent.create());
        launch.before().record(stream);
        launches.add(launch);
    }

    void after() {
        launches.getLast().after().record(stream);
    }

    /** Waits for what was launched and adds it up. */
    void collect() {
        stream.synchronize();
        for (Launch launch : launches) {
            Sum sum = sums.computeIfAbsent(launch.kernel(), key -> new Sum());
            sum.launches++;
            sum.milliseconds += launch.after().millisSince(launch.before());
            launch.before().close();
            launch.after().close();
        }
        launches.clear();
    }

    /** Milliseconds of all kernels whose names begin like this. */
    double milliseconds(String prefix) {
        collect();
        return sums.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(prefix))
                .mapToDouble(entry -> entry.getValue().milliseconds)
                .sum();
    }

    /** One line a kernel, the longest first: launches, milliseconds, microseconds each. */
    String table() {
        collect();
        StringBuilder table = new StringBuilder();
        sums.entrySet().stream()
                .sorted(Comparator.comparingDouble(entry -> -entry.getValue().milliseconds))
                .forEach(entry -> table.append(String.format(
                        Locale.ROOT,
                        "%-28s %6d launches %10.3f ms %9.2f us each%n",
                        entry.getKey(),
                        entry.getValue().launches,
                        entry.getValue().milliseconds,
                        1e3 * entry.getValue().milliseconds / entry.getValue().launches)));
        return table.toString();
    }

    @Override
    public void close() {
        collect();
    }
}
