package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The page's files as they come from the server. */
final class WebPageTest {
    private static final Pattern IMPORT = Pattern.compile("from \"\\./([^\"]+)\"|(?:src|href)=\"([^\"#]+)\"");

    @Test
    void everyFileThatThePageNamesIsServed() throws Exception {
        try (TestServer server =
                TestServer.start(FakeInferenceService.hello(), options -> options.withApiKeys(List.of("secret")))) {
            HttpResponse<String> page = server.get("/");
            assertEquals(200, page.statusCode());
            assertTrue(page.headers()
                    .firstValue("content-security-policy")
                    .orElseThrow()
                    .contains("default-src 'none'"));
            follow(server, page.body(), 0);
        }
    }

    private static void follow(TestServer server, String text, int depth) {
        Matcher matcher = IMPORT.matcher(text);
        while (matcher.find()) {
            String name = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
            HttpResponse<String> file = server.get("/" + name);
            assertEquals(200, file.statusCode(), name);
            assertFalse(file.body().contains("innerHTML = `"), name);
            // Nothing comes from elsewhere; the only addresses are names of SVG and patterns of links.
            assertFalse(file.body().replace("http://www.w3.org/2000/svg", "").contains("http://"), name);
            if (depth < 3 && name.endsWith(".js")) {
                follow(server, file.body(), depth + 1);
            }
        }
    }

    @Test
    void unchangedFilesAreNotSentAgain() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello())) {
            String tag = server.get("/main.js").headers().firstValue("etag").orElseThrow();
            HttpResponse<String> again = server.send(
                    server.request("/main.js").header("if-none-match", tag).build());
            assertEquals(304, again.statusCode());
        }
    }

    @Test
    void thePageCanBeLeftOut() throws Exception {
        try (TestServer server =
                TestServer.start(FakeInferenceService.hello(), options -> options.withWebPage(false))) {
            assertEquals(404, server.get("/").statusCode());
        }
    }
}
