package dev.strata.chat.template;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.tokenizer.TokenizerFixtures;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Real templates, byte for byte. */
class GoldenRenderingTest {
    private final ObjectMapper mapper = new ObjectMapper();

    private static String resource(String name) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(GoldenRenderingTest.class.getResourceAsStream("/dev/strata/chat/" + name))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void qwen3() throws IOException {
        Template template = Template.parse("qwen3", resource("qwen3.jinja"));
        JsonNode chats = TokenizerFixtures.golden("golden-qwen3.json").get("chat");
        assertEquals(14, chats.size());
        for (JsonNode chat : chats) {
            Map<String, Object> variables = new HashMap<>();
            variables.put("messages", mapper.convertValue(chat.get("messages"), Object.class));
            variables.put("tools", mapper.convertValue(chat.get("tools"), Object.class));
            variables.put(
                    "add_generation_prompt", chat.get("add_generation_prompt").asBoolean());
            chat.get("kwargs")
                    .properties()
                    .forEach(entry ->
                            variables.put(entry.getKey(), mapper.convertValue(entry.getValue(), Object.class)));
            assertEquals(
                    chat.get("rendered").asText(),
                    template.render(variables, Clock.systemUTC()),
                    chat.get("name").asText());
        }
    }

    @Test
    void strataTiny() throws IOException {
        Template template = Template.parse("strata-tiny", resource("chatml.jinja"));
        for (JsonNode chat : mapper.readTree(Files.readString(Path.of("models/strata-tiny/golden-chat.json")))) {
            Map<String, Object> variables = new HashMap<>();
            variables.put("messages", mapper.convertValue(chat.get("messages"), Object.class));
            if (chat.has("tools")) {
                variables.put("tools", mapper.convertValue(chat.get("tools"), Object.class));
            }
            if (chat.has("enable_thinking")) {
                variables.put("enable_thinking", chat.get("enable_thinking").asBoolean());
            }
            variables.put("add_generation_prompt", true);
            assertEquals(chat.get("rendered").asText(), template.render(variables, Clock.systemUTC()));
        }
    }
}
