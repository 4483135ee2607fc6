package dev.strata.server.http;

/**
 * Where requests of a path and method go.
 *
 * @param path exact, or ending in {@code /*} for one more path segment
 * @param open answered without an API key
 * @param json the body has to be declared as JSON
 * @param immediate the endpoint never waits, so it answers on the event loop: at full load too, when virtual threads queue
 */
public record Route(
        String method, String path, Dialect dialect, boolean open, boolean json, boolean immediate, Endpoint endpoint) {
    /** Whose error shape the route speaks. */
    public enum Dialect {
        OPENAI,
        ANTHROPIC
    }

    public static Route get(String path, Endpoint endpoint) {
        return new Route("GET", path, Dialect.OPENAI, false, false, false, endpoint);
    }

    public static Route post(String path, Endpoint endpoint) {
        return new Route("POST", path, Dialect.OPENAI, false, true, false, endpoint);
    }

    public static Route delete(String path, Endpoint endpoint) {
        return new Route("DELETE", path, Dialect.OPENAI, false, false, false, endpoint);
    }

    /** The same route, answered without an API key. */
    public Route withoutKey() {
        return new Route(method, path, dialect, true, json, immediate, endpoint);
    }

    /** The same route, answered on the event loop. */
    public Route immediately() {
        return new Route(method, path, dialect, open, json, true, endpoint);
    }

    public Route speaking(Dialect other) {
        return new Route(method, path, other, open, json, immediate, endpoint);
    }

    boolean matches(String requested) {
        if (!path.endsWith("/*")) {
            return requested.equals(path);
        }
        String stem = path.substring(0, path.length() - 1);
        return requested.startsWith(stem)
                && requested.length() > stem.length()
                && requested.indexOf('/', stem.length()) < 0;
    }
}
