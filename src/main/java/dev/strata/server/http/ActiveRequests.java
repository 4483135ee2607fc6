package dev.strata.server.http;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Answers that are being made, by the id their clients know them by, so that DELETE can cancel them. */
public final class ActiveRequests {
    private final Map<String, GenerationCall> calls = new ConcurrentHashMap<>();

    void add(String id, GenerationCall call) {
        calls.put(id, call);
    }

    void remove(String id) {
        calls.remove(id);
    }

    /** Cancels the request; false when there is none of that id. */
    public boolean cancel(String id) {
        GenerationCall call = calls.get(id);
        if (call != null) {
            call.cancel();
        }
        return call != null;
    }

    public void cancelAll() {
        calls.values().forEach(GenerationCall::cancel);
    }

    public int count() {
        return (int) calls.values().stream().distinct().count();
    }
}
