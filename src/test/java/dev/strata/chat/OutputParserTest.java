package dev.strata.chat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.Tool;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class OutputParserTest {
    private static final List<Tool> TOOLS =
            List.of(new Tool("get_weather", "", """
                    {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"units":{"enum":["C","F"]},
                     "note":{"type":["string","null"]},"tags":{"type":"array"},"deep":{"$ref":"#/$defs/d"},"on":{"type":"boolean"}},
                     "$defs":{"d":{"type":"object"}}}""", "{}"), new Tool("ping", "", "{}", "{}"));

    private static final List<String> BITS = List.of(
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "\n",
            "{\"name\": \"ping\", \"arguments\": {\"a\": \"b\\\"c\"}}",
            "{\"name\": \"get_weather\"",
            ", \"arguments\": {\"days\": 1}}",
            "<function=get_weather>",
            "<function=x>",
            "<parameter=city>",
            "<parameter=days>",
            "</parameter>",
            "</function>",
            "text",
            " ",
            "<",
            "</",
            "é😀",
            "{",
            "}",
            "\"",
            "3",
            "<tool_",
            "\n\n",
            "name");

    /** An answer put together again. */
    private record Answer(String reasoning, String content, List<String> calls) {}

    private static OutputParser parser(boolean reasoning, boolean open, List<Tool> tools) {
        AtomicInteger ids = new AtomicInteger();
        return new OutputParser(
                new OutputSyntax(reasoning, open, tools, Integer.MAX_VALUE), () -> "id" + ids.getAndIncrement());
    }

    private static Answer parse(OutputParser parser, List<String> pieces, boolean cut) {
        List<OutputEvent> events = new ArrayList<>();
        pieces.forEach(piece -> events.addAll(parser.push(piece)));
        events.addAll(parser.finish(cut));
        StringBuilder reasoning = new StringBuilder();
        StringBuilder content = new StringBuilder();
        List<String> calls = new ArrayList<>();
        for (OutputEvent event : events) {
            switch (event) {
                case OutputEvent.Reasoning(String text) -> reasoning.append(text);
                case OutputEvent.Content(String text) -> content.append(text);
                case OutputEvent.CallStart(int index, String id, String name) -> {
                    assertEquals(calls.size(), index);
                    assertEquals("id" + index, id);
                    calls.add(name + " ");
                }
                case OutputEvent.CallArguments(int index, String fragment) -> {
                    assertFalse(fragment.isEmpty());
                    calls.set(index, calls.get(index) + fragment);
                }
            }
        }
        return new Answer(reasoning.toString(), content.toString(), calls);
    }

    private static Answer whole(String text, boolean open, boolean cut) {
        return parse(parser(true, open, TOOLS), List.of(text), cut);
    }

    private static Answer whole(String text) {
        return whole(text, false, false);
    }

    @Test
    void reasoningIsSplitFromContent() {
        assertEquals(new Answer("", "Hello!", List.of()), whole("<think>\n\n</think>\n\nHello!"));
        assertEquals(new Answer("7 * 8 = 56", "56", List.of()), whole("<think>\n7 * 8 = 56\n</think>\n\n56"));
        assertEquals(new Answer("open", "said", List.of()), whole("open\n</think>\n\nsaid", true, false));
        assertEquals(new Answer("never closed", "", List.of()), whole("never closed", true, true));
        assertEquals(new Answer("never closed", "", List.of()), whole("\n<think>\nnever closed\n</thi", false, true));
        assertEquals(new Answer("", "no block", List.of()), whole("no block"));
        assertEquals(
                new Answer("  two\n lines", "  kept\n\n", List.of()),
                whole("<think>\n  two\n lines\n\n</think>\n  kept\n\n"));
    }

    @Test
    void tagsInProseAreText() {
        assertEquals(new Answer("", "The tag <think> opens it.", List.of()), whole("The tag <think> opens it."));
        assertEquals(
                new Answer("", "Write `<tool_call>` and then {\"name\": 1}.", List.of()),
                whole("Write `<tool_call>` and then {\"name\": 1}."));
        assertEquals(
                new Answer("", "<tool_call>\n{\"name\": NAME, \"arguments\": ARGUMENTS}\n</tool_call>", List.of()),
                whole("<tool_call>\n{\"name\": NAME, \"arguments\": ARGUMENTS}\n</tool_call>"));
        assertEquals(
                new Answer("", "a < b <tool <x> <function=nobody> y", List.of()),
                whole("a < b <tool <x> <function=nobody> y"));
        assertEquals(new Answer("", "1 <", List.of()), whole("1 <"));
        String call = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";
        assertEquals(new Answer("", call, List.of()), parse(parser(true, false, List.of()), List.of(call), false));
    }

    @Test
    void hermesCalls() {
        assertEquals(
                new Answer("", "", List.of("get_weather {\"city\": \"Oslo\", \"days\": 2}")),
                whole(
                        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_call>"));
        assertEquals(
                new Answer("why", "Let me see.", List.of("ping {}", "get_weather {\"city\": \"a}\\\"</tool_call>{\"}")),
                whole(
                        "<think>\nwhy\n</think>\n\nLet me see.\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>\n"
                                + "<tool_call>\n{\"arguments\": {\"city\": \"a}\\\"</tool_call>{\"}, \"name\": \"get_weather\", \"id\": 3}\n</tool_call>\n"));
        assertEquals(new Answer("", "", List.of("ping {}")), whole("<tool_call>{\"name\":\"ping\"}</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("ping {}")),
                whole("<tool_call>{\"name\":\"ping\",\"arguments\":null}</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("ping {\"a\": \"x\\ny\"}")),
                whole("<tool_call>{\"name\": \"ping\", \"arguments\": \"{\\\"a\\\": \\\"x\\\\ny\\\"}\"}</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("ping {}", "ping {\"n\":1}")),
                whole("<tool_call>\n{\"name\":\"ping\"}\n{\"name\":\"ping\",\"arguments\":{\"n\":1}}\n</tool_call>"));
        assertEquals(
                new Answer("", "and text", List.of("ping {}")),
                whole("<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>and text"));
        assertEquals(
                new Answer("", "", List.of("ping {}", "ping {}")),
                whole(
                        "<tool_call>{\"name\": \"ping\", \"arguments\": {}}\n<tool_call>{\"name\": \"ping\", \"arguments\": {}}"));
    }

    @Test
    void xmlCallsAreTypedByTheSchema() {
        assertEquals(
                new Answer(
                        "",
                        "",
                        List.of(
                                "get_weather {\"city\": \"Os\\\"lo\\nx\", \"days\": 3, \"units\": \"C\", \"note\": null, \"tags\": [1, \"a\"], \"deep\": {\"k\": 1}, \"on\": true, \"other\": \"12\"}")),
                whole(
                        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOs\"lo\nx\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                                + "<parameter=units>\nC\n</parameter>\n<parameter=note>\nnull\n</parameter>\n<parameter=tags>\n[1, \"a\"]\n</parameter>\n"
                                + "<parameter=deep>\n{\"k\": 1}\n</parameter>\n<parameter=on>\nTrue\n</parameter>\n<parameter=other>\n12\n</parameter>\n</function>\n</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("get_weather {\"city\": \"12\", \"days\": \"many\"}")),
                whole(
                        "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\nmany\n</parameter>\n</function>\n</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("ping {}", "ping {}")),
                whole(
                        "<tool_call>\n<function=ping>\n</function>\n</tool_call>\n<tool_call>\n<function=ping></function>\n</tool_call>"));
        assertEquals(
                new Answer("", "Now:", List.of("get_weather {\"city\": \"<b> </p\"}")),
                whole(
                        "Now:\n<function=get_weather>\n<parameter=city>\n<b> </p\n</parameter>\n</function>\n</tool_call>"));
        assertEquals(
                new Answer("", "", List.of("get_weather {\"city\": \"a\", \"days\": 1}")),
                whole(
                        "<tool_call>\n<function=get_weather>\n<parameter=city>\na\n<parameter=days>\n1\n</function>\n</tool_call>"));
    }

    @Test
    void cutCallsKeepWhatIsThereAndLeakNothing() {
        assertEquals(
                new Answer("", "ok", List.of("get_weather {\"city\": \"Os")),
                whole("ok\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Os", false, true));
        assertEquals(
                new Answer("", "", List.of("get_weather {\"city\": \"Os")),
                whole("<tool_call>\n<function=get_weather>\n<parameter=city>\nOs", false, true));
        for (String cut : List.of(
                "<tool_call",
                "<tool_call>",
                "<tool_call>\n{\"na",
                "<tool_call>\n{\"name\": \"get_we",
                "<tool_call>\n<function=get",
                "<funct")) {
            assertEquals(new Answer("", "text", List.of()), whole("text\n" + cut, false, true), cut);
        }
        assertEquals(new Answer("", "", List.of("ping ")), whole("<tool_call>\n{\"name\": \"ping\", ", false, true));
    }

    @Test
    void callsBeyondTheAllowedNumberAreDropped() {
        OutputParser parser = new OutputParser(new OutputSyntax(true, false, TOOLS, 1), () -> "id0");
        String call = "<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>";
        Answer answer = parse(parser, List.of(call + call + "text"), false);
        assertEquals(new Answer("", "", List.of("ping {}")), answer);
        assertTrue(parser.callsComplete());
    }

    @Test
    void textIsGivenOutAsSoonAsItIsCertain() {
        OutputParser parser = parser(true, false, TOOLS);
        assertEquals(List.of(new OutputEvent.Content("Hello")), parser.push("Hello"));
        assertEquals(List.of(), parser.push(" <tool"));
        assertEquals(List.of(new OutputEvent.Content(" <tools>")), parser.push("s>"));
        assertEquals(List.of(), parser.push("\n<tool_call>\n{\"name\": \"get_weather\""));
        assertEquals(
                List.of(new OutputEvent.CallStart(0, "id0", "get_weather"), new OutputEvent.CallArguments(0, "{\"ci")),
                parser.push(", \"arguments\": {\"ci"));
        assertEquals(List.of(new OutputEvent.CallArguments(0, "ty\": \"O")), parser.push("ty\": \"O"));
    }

    @Test
    void everyCuttingGivesTheSameAnswer() {
        Random random = new Random(23);
        for (int round = 0; round < 6_000; round++) {
            cutEverywhere(random);
        }
    }

    /** Makes up an answer of the bits that parsers look for, and reads it cut in several ways. */
    static void cutEverywhere(Random random) {
        StringBuilder text = new StringBuilder();
        for (int count = random.nextInt(1, 14); count > 0; count--) {
            text.append(BITS.get(random.nextInt(BITS.size())));
        }
        boolean open = random.nextInt(4) == 0;
        boolean cut = random.nextBoolean();
        String all = text.toString();
        Answer expected = parse(parser(true, open, TOOLS), List.of(all), cut);
        assertEquals(expected, parse(parser(true, open, TOOLS), List.of(all.split("")), cut), all);
        List<String> pieces = new ArrayList<>();
        for (int at = 0; at < all.length(); ) {
            int next = Math.min(all.length(), at + random.nextInt(1, 9));
            pieces.add(all.substring(at, next));
            at = next;
        }
        assertEquals(expected, parse(parser(true, open, TOOLS), pieces, cut), all);
    }

    @Test
    void longTextsTakeLinearTime() {
        long start = System.nanoTime();
        whole("<tool_call>".repeat(40_000));
        whole("<tool_call>{\"x\":\"".repeat(20_000));
        whole("<tool_call>\n{\"name\": \"ping\", \"arguments\": {\"a\": \"" + "x".repeat(1_000_000)
                + "\"}}</tool_call>");
        whole("<tool_call>\n<function=get_weather>\n<parameter=city>\n" + "x<".repeat(500_000));
        assertTrue(System.nanoTime() - start < 60_000_000_000L);
    }
}
