package dev.strata.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.strata.device.Backend;
import dev.strata.device.KvFormat;
import dev.strata.device.Ops;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.model.LogitsRunner;
import dev.strata.model.Model;
import dev.strata.model.ModelLoader;
import dev.strata.model.ModelOptions;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Which experts every position of a prompt goes to, layer by layer. */
final class RoutingTrace {
    private final List<int[][]> routed = new ArrayList<>();

    private RoutingTrace() {}

    /** Reads ids from where a backend keeps them. */
    private interface Ids {
        int[] read(Routing routing, int count);
    }

    /** Positions that the card sends to other experts than the reference does, in any layer. */
    static Set<Integer> flips(Path folder, CudaOptions options, KvFormat kv, int[] prompt, int chunk) {
        RoutingTrace card = new RoutingTrace();
        try (CudaBackend backend = Cards.open(options.withGraphs(false))) {
            CudaOps ops = (CudaOps) backend.ops();
            card.run(
                    folder,
                    backend,
                    (routing, count) -> ops.readIntegers(routing.ids().address(), count),
                    kv,
                    prompt,
                    chunk);
        }
        RoutingTrace reference = new RoutingTrace();
        try (Backend backend = ReferenceBackend.create(1)) {
            reference.run(
                    folder,
                    backend,
                    (routing, count) ->
                            routing.ids().host().asSlice(0, 4L * count).toArray(JAVA_INT),
                    KvFormat.F32,
                    prompt,
                    chunk);
        }
        Set<Integer> flips = new TreeSet<>();
        int layers = card.routed.size() / Math.ceilDiv(prompt.length, chunk);
        for (int i = 0; i < card.routed.size(); i++) {
            for (int row = 0; row < card.routed.get(i).length; row++) {
                if (!Arrays.equals(card.routed.get(i)[row], reference.routed.get(i)[row])) {
                    flips.add(i / layers * chunk + row);
                }
            }
        }
        return flips;
    }

    private void run(Path folder, Backend backend, Ids ids, KvFormat kv, int[] prompt, int chunk) {
        Ops ops = around(Ops.class, backend.ops(), (result, arguments) -> {
            remember(ids, arguments);
            return result;
        });
        Backend watched = around(Backend.class, backend, (result, arguments) -> result == backend.ops() ? ops : result);
        try (ModelFiles files = ModelFileOpener.open(folder);
                Model model = ModelLoader.load(files, watched, new ModelOptions(256, 6, 2, kv, false))) {
            new LogitsRunner(model).append(prompt, chunk);
        }
    }

    /** Routes are the only operations that have logits and a routing. */
    private void remember(Ids ids, Object[] arguments) {
        if (arguments.length < 3
                || !(arguments[arguments.length - 1] instanceof Routing routing)
                || !(arguments[arguments.length - 2] instanceof Tensor logits)) {
            return;
        }
        int used = routing.used();
        int[] all = ids.read(routing, logits.rows() * used);
        int[][] rows = new int[logits.rows()][];
        for (int row = 0; row < rows.length; row++) {
            rows[row] = Arrays.copyOfRange(all, row * used, (row + 1) * used);
            Arrays.sort(rows[row]);
        }
        routed.add(rows);
    }

    /** What is done with the result of a call. */
    private interface Then {
        @Nullable
        Object apply(@Nullable Object result, Object[] arguments);
    }

    private static <T> T around(Class<T> type, T real, Then then) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            try {
                Object result = method.invoke(real, arguments);
                return then.apply(result, arguments == null ? new Object[0] : arguments);
            } catch (InvocationTargetException e) {
                throw Objects.requireNonNullElse(e.getCause(), e);
            }
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
