package dev.strata.server.http;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Finds the route of a path and method. */
public final class Router {
    private final Map<String, List<Route>> exact = new HashMap<>();
    private final List<Route> patterns = new ArrayList<>();

    public Router(List<Route> routes) {
        for (Route route : routes) {
            if (route.path().endsWith("/*")) {
                patterns.add(route);
            } else {
                exact.computeIfAbsent(route.path(), _ -> new ArrayList<>()).add(route);
            }
        }
    }

    /** @throws HttpFailure 404 for an unknown path, 405 for a known path with another method */
    Route find(Exchange exchange) {
        String path = normal(exchange.path());
        List<Route> candidates = candidates(path);
        if (candidates.isEmpty()) {
            throw new HttpFailure(404, "unknown_url", "There is nothing at " + exchange.method() + " " + path);
        }
        String method = exchange.method().equals("HEAD") ? "GET" : exchange.method();
        for (Route route : candidates) {
            if (route.method().equals(method)) {
                return route;
            }
        }
        String allowed = allowed(candidates);
        exchange.responseHeader("allow", allowed);
        throw new HttpFailure(405, "method_not_allowed", path + " takes " + allowed + ", not " + exchange.method());
    }

    /** Whether the path is answered on the event loop. */
    boolean isImmediate(String path) {
        List<Route> found = exact.get(path);
        return found != null && found.getFirst().immediate();
    }

    /** The route of a path whatever the method, for the shape of its errors. */
    Route.@Nullable Dialect dialect(String path) {
        List<Route> candidates = candidates(normal(path));
        return candidates.isEmpty() ? null : candidates.getFirst().dialect();
    }

    private List<Route> candidates(String path) {
        List<Route> found = exact.get(path);
        return found != null
                ? found
                : patterns.stream().filter(route -> route.matches(path)).toList();
    }

    private static String allowed(List<Route> candidates) {
        TreeSet<String> methods = new TreeSet<>();
        for (Route route : candidates) {
            methods.add(route.method());
            if (route.method().equals("GET")) {
                methods.add("HEAD");
            }
        }
        return String.join(", ", methods);
    }

    private static String normal(String path) {
        return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }
}
