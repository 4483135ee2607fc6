package dev.strata.chat.template;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What Python's jinja2 3.1.6, set up as transformers does, gives for the same templates and variables. */
class TemplateCasesTest {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2025-03-07T15:04:09Z"), ZoneOffset.UTC);
    private final ObjectMapper mapper = new ObjectMapper();
    private final JsonNode cases = cases();

    @SuppressWarnings("unchecked")
    private final Map<String, Object> variables = mapper.convertValue(cases.get("variables"), Map.class);

    private JsonNode cases() {
        try (InputStream in = Objects.requireNonNull(TemplateCasesTest.class.getResourceAsStream("cases.json"))) {
            return mapper.readTree(in);
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    private Stream<DynamicTest> each(String group, java.util.function.Consumer<JsonNode> check) {
        return StreamSupport.stream(cases.get(group).spliterator(), false)
                .map(example -> DynamicTest.dynamicTest(example.get("template").asText(), () -> check.accept(example)));
    }

    @TestFactory
    Stream<DynamicTest> renderings() {
        return each(
                "renderings",
                example -> assertEquals(
                        example.get("expected").asText(),
                        Template.parse("case", example.get("template").asText()).render(variables, CLOCK)));
    }

    @TestFactory
    Stream<DynamicTest> failures() {
        return each("failures", example -> {
            Template template = Template.parse("case", example.get("template").asText());
            TemplateException error = assertThrows(TemplateException.class, () -> template.render(variables, CLOCK));
            assertTrue(error.line() > 0, () -> String.valueOf(error.getMessage()));
            assertTrue(String.valueOf(error.getMessage()).startsWith("case, line " + error.line() + ": "));
            assertEquals(example.get("template").asText().contains("raise_exception"), error.raised());
        });
    }

    @TestFactory
    Stream<DynamicTest> unparsable() {
        return each("unparsable", example -> {
            TemplateException error = assertThrows(
                    TemplateException.class,
                    () -> Template.parse("case", example.get("template").asText()));
            assertEquals(example.get("line").asInt(), error.line(), () -> String.valueOf(error.getMessage()));
            assertTrue(
                    String.valueOf(error.getMessage()).startsWith("case, line "),
                    () -> String.valueOf(error.getMessage()));
        });
    }
}
