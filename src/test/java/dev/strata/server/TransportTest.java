package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** The server answers over whatever sockets there are, and says which. */
final class TransportTest {
    @Test
    void theBestOneIsTold() throws IOException {
        check(Transport.best());
    }

    @Test
    void plainJavaServesToo() throws IOException {
        JsonNode told = check(Transport.portable("asked for"));
        assertEquals("nio", told.path("name").asText());
        assertEquals("asked for", told.path("reason").asText());
    }

    private static JsonNode check(Transport transport) throws IOException {
        try (TestServer server = TestServer.start(FakeInferenceService.hello(), options -> options, transport)) {
            String body = server.post(
                            "/v1/chat/completions",
                            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true}")
                    .body();
            assertTrue(body.contains("\"content\":\" world\"") && body.endsWith("data: [DONE]\n\n"), body);
            JsonNode told = TestServer.json(server.get("/v1/status")).at("/server/transport");
            assertEquals(transport.name(), told.path("name").asText());
            assertEquals(transport.reason().isEmpty(), told.path("reason").isMissingNode());
            assertFalse(transport.name().isEmpty());
            return told;
        }
    }
}
