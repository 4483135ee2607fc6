package dev.strata.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.server.browser.Browser;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The page in headless Chromium: what a visitor does, by keyboard where that can be. */
final class WebPageBrowserTest {
    private static final String ENTER = "\uE007";
    private static final String ESCAPE = "\uE00C";
    private static final String RIGHT = "\uE014";

    @BeforeAll
    static void needBrowser() {
        Optional<String> missing = Browser.missing();
        assumeTrue(missing.isEmpty(), () -> missing.orElse(""));
    }

    private static List<Message> asked(FakeInferenceService engine) throws InterruptedException {
        GenerateRequest request = engine.requests.poll(20, TimeUnit.SECONDS);
        assertNotNull(request);
        return ((Prompt.Chat) request.prompt()).messages();
    }

    @Test
    void chatStopRegenerateAndMonitor() throws Exception {
        FakeInferenceService engine = new FakeInferenceService(output -> {
            output.reasoning("pondering");
            output.content("Some **bold** <b>words</b> and\n\n```java\nint x = 1;\n```\n");
            output.finish(FinishReason.STOP);
        });
        try (TestServer server = TestServer.start(engine);
                Browser browser = Browser.start(1200, 800, false)) {
            browser.open("http://127.0.0.1:" + server.server.port() + "/");
            browser.await("document.getElementById('state-dot').classList.contains('ready')");
            answerIsShown(engine, browser);
            answerAgain(engine, browser);
            stopByEscape(engine, browser);
            conversationsStay(server, browser);
            engine.facts = new LinkedHashMap<>(Map.of(
                    "backend",
                    "fake",
                    "tiers",
                    Map.of("vram", Map.of("lookups", 9, "bytes", 9), "link", Map.of("lookups", 1, "bytes", 1)),
                    "memory",
                    Map.of(
                            "ram",
                            Map.of("experts_bytes", 1 << 30, "sequences_bytes", 1 << 28, "total_bytes", 1L << 32))));
            monitorByKeyboard(browser);
        }
    }

    private static void answerIsShown(FakeInferenceService engine, Browser browser) throws Exception {
        browser.type("Hello there" + ENTER);
        browser.await("document.querySelector('.figures')?.textContent.includes('tok/s')");
        assertEquals(List.of(Message.of("user", "Hello there")), asked(engine));
        assertEquals(
                "bold",
                browser.run("return document.querySelector('.text strong').textContent")
                        .asText());
        // What the model writes never becomes markup.
        assertEquals(
                0,
                browser.run("return document.querySelectorAll('.text b').length")
                        .asInt());
        assertEquals(
                "int",
                browser.run("return document.querySelector('.code .k').textContent")
                        .asText());
        assertFalse(browser.run("return document.querySelector('details.thoughts').open")
                .asBoolean());
        assertTrue(browser.run("return document.querySelector('details.thoughts').textContent")
                .asText()
                .contains("pondering"));
        assertTrue(browser.run("return document.getElementById('announce').textContent")
                .asText()
                .contains("bold"));
    }

    private static void answerAgain(FakeInferenceService engine, Browser browser) throws Exception {
        engine.script(output -> {
            output.content("Second answer");
            output.finish(FinishReason.LENGTH);
        });
        browser.click("button[aria-label='Answer again']");
        browser.await("document.querySelector('.message.assistant').textContent.includes('cut at the token limit')");
        assertEquals(List.of(Message.of("user", "Hello there")), asked(engine));
        assertEquals(
                2,
                browser.run("return document.querySelectorAll('.message').length")
                        .asInt());
    }

    private static void stopByEscape(FakeInferenceService engine, Browser browser) throws Exception {
        engine.script(output -> {
            output.content("Endless");
            output.awaitCancel();
            output.finish(FinishReason.CANCELLED);
        });
        browser.type("More" + ENTER);
        browser.await("document.getElementById('messages').textContent.includes('Endless')");
        browser.type(ESCAPE);
        assertNotNull(engine.cancellations.poll(20, TimeUnit.SECONDS));
        assertEquals(3, asked(engine).size());
        browser.await("!document.getElementById('send').classList.contains('busy')");
    }

    private static void conversationsStay(TestServer server, Browser browser) throws Exception {
        browser.open("http://127.0.0.1:" + server.server.port() + "/?again");
        browser.await("document.querySelectorAll('.message').length === 4");
        browser.click("#new-chat");
        assertEquals(
                0,
                browser.run("return document.querySelectorAll('.message').length")
                        .asInt());
        assertEquals(
                1,
                browser.run("return document.querySelectorAll('#conversations li').length")
                        .asInt());
        browser.run("document.querySelector('#conversations .title').click()");
        assertEquals(
                4,
                browser.run("return document.querySelectorAll('.message').length")
                        .asInt());
    }

    private static void monitorByKeyboard(Browser browser) throws Exception {
        browser.run("document.getElementById('tab-chat').focus()");
        browser.type(RIGHT);
        browser.await("document.querySelectorAll('#charts polyline').length > 0");
        assertTrue(browser.run("return document.getElementById('facts').textContent")
                .asText()
                .contains("fake"));
        browser.await("document.querySelectorAll('#memory .stack span').length === 2");
        browser.await("document.getElementById('charts').textContent.includes('GB/s by tier')");
        assertTrue(browser.run("return document.getElementById('memory').textContent")
                .asText()
                .contains("GiB"));
        assertEquals(
                "true",
                browser.run("return document.getElementById('tab-monitor').getAttribute('aria-selected')")
                        .asText());
    }

    @Test
    void everyControlHasANameAndColoursFollowTheSystem() throws Exception {
        try (TestServer server = TestServer.start(FakeInferenceService.hello());
                Browser browser = Browser.start(700, 800, true)) {
            browser.open("http://127.0.0.1:" + server.server.port() + "/");
            browser.await("document.getElementById('state-dot').classList.contains('ready')");
            assertEquals(
                    "dark",
                    browser.run("return document.documentElement.dataset.theme").asText());
            browser.click("#theme");
            assertEquals(
                    "light",
                    browser.run("return document.documentElement.dataset.theme").asText());
            String nameless = browser.run("return [...document.querySelectorAll('button, input, select, textarea')]"
                            + ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))"
                            + ".map(e => e.outerHTML.slice(0, 80)).join('; ')")
                    .asText();
            assertEquals("", nameless);
            assertTrue(browser.run("return document.documentElement.scrollWidth <= innerWidth")
                    .asBoolean());
        }
    }
}
