package dev.strata.chat.template;

import static dev.strata.ErrorMessages.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A template comes with a downloaded model: it must not be able to hang the server or to fill its memory. */
class TemplateLimitsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}",
                "{% for i in range(100000000) %}{% endfor %}",
                "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
                "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
                "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
                "{{ 'a' * 1000000000 }}",
                "{{ [1] * 1000000000 }}",
                "{{ 'a'.ljust(2000000000) }}",
                "{{ 'a'|center(2000000000) }}",
                "{{ ('a' * 1000000).replace('a', 'b' * 100000) }}",
                "{{ '%999999999d' % 1 }}",
                "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
                "{% macro m() %}{% for i in range(9) %}{{ m() }}{% endfor %}{% endmacro %}{{ m() }}",
                "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
                "{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}",
                "{% for i in range(1000000) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}",
                "{{ 2 ** 100000000000 }}",
                "{{ ['x' * 1000000] * 1000 | join }}"
            })
    void hostileTemplatesEnd(String source) {
        Template template = Template.parse("hostile", source);
        String message = assertTimeoutPreemptively(
                Duration.ofSeconds(60),
                () -> messageOf(TemplateException.class, () -> template.render(Map.of(), Clock.systemUTC())));
        assertTrue(message.startsWith("hostile"), message);
    }

    @Test
    void deepNestingIsRefusedWhenParsing() {
        String message = messageOf(
                TemplateException.class,
                () -> Template.parse("deep", "{{ " + "(".repeat(100_000) + "1" + ")".repeat(100_000) + " }}"));
        assertTrue(message.contains("nesting is deeper"), message);
        String blocks = messageOf(
                TemplateException.class,
                () -> Template.parse("deep", "{% if 1 %}".repeat(10_000) + "{% endif %}".repeat(10_000)));
        assertTrue(blocks.contains("nesting is deeper"), blocks);
        String minus =
                messageOf(TemplateException.class, () -> Template.parse("deep", "{{ " + "-".repeat(100_000) + "1 }}"));
        assertTrue(minus.contains("nesting is deeper"), minus);
    }

    @Test
    void longConversationsAreFarFromTheLimits() {
        Template template = Template.parse(
                "long",
                "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content|trim + '<|im_end|>\n' }}{% endfor %}");
        Map<String, Object> message = Map.of("role", "user", "content", "x".repeat(20_000));
        String text =
                template.render(Map.of("messages", java.util.Collections.nCopies(250, message)), Clock.systemUTC());
        assertEquals(250 * (20_000 + "<|im_start|>user\n<|im_end|>\n".length()), text.length());
    }
}
