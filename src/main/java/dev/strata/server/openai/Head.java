package dev.strata.server.openai;

import dev.strata.server.http.Json;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What every chunk of an answer repeats.
 *
 * @param created seconds since the epoch
 */
record Head(String id, long created, String model) {
    static Head of(String id, String model) {
        return new Head(id, System.currentTimeMillis() / 1000, model);
    }

    /** The start of a chunk or answer; more members are added to it. */
    Map<String, @Nullable Object> object(String kind) {
        return Json.object(
                "id", id, "object", kind, "created", created, "model", model, "system_fingerprint", fingerprint());
    }

    /** Answers to one seed repeat as long as this stays the same. */
    private static String fingerprint() {
        String version = Head.class.getPackage().getImplementationVersion();
        return "strata-" + (version == null ? "dev" : version);
    }
}
