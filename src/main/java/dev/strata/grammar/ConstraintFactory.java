package dev.strata.grammar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.Tool;
import dev.strata.api.ToolChoice;
import dev.strata.sampling.TokenConstraint;
import dev.strata.tokenizer.Tokenizer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes the constraints of requests. Compiled schemas are kept, with the masks that were made for them. Safe for use by many threads.
 */
public final class ConstraintFactory {
    private static final int KEPT = 64;
    /** Masks kept for all schemas together; one is 19 kB for 150,000 tokens. */
    private static final int KEPT_MASKS = 8_000;

    private static final ObjectMapper MAPPER =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private final Tokenizer tokenizer;
    private final Set<Integer> end;
    private final Map<String, GrammarMachine> machines = new LinkedHashMap<>(KEPT, 0.75f, true);
    private @Nullable GrammarVocabulary vocabulary;

    public ConstraintFactory(Tokenizer tokenizer) {
        this(tokenizer, tokenizer.specialTokens().end());
    }

    /** @param end tokens that end an answer */
    public ConstraintFactory(Tokenizer tokenizer, Set<Integer> end) {
        this.tokenizer = tokenizer;
        this.end = Set.copyOf(end);
    }

    /**
     * The constraint of an output format, which begins behind the reasoning.
     *
     * @param reasoning whether the model may reason first
     * @param insideReasoning whether the prompt opened the reasoning block already
     * @throws ApiException naming the keyword, when the format cannot be followed
     */
    public Optional<TokenConstraint> of(OutputFormat format, boolean reasoning, boolean insideReasoning) {
        return switch (format) {
            case OutputFormat.Text text -> Optional.empty();
            case OutputFormat.JsonObject object ->
                Optional.of(gated(
                        "object",
                        "response_format",
                        reasoning,
                        insideReasoning,
                        () -> compile(reasoning, (builder, from) -> new JsonRules(builder).object(from))));
            case OutputFormat.JsonSchema(String name, String schema) ->
                Optional.of(gated(
                        "schema " + schema,
                        "response_format",
                        reasoning,
                        insideReasoning,
                        () -> compile(
                                reasoning,
                                (builder, from) -> new SchemaCompiler(builder, new JsonRules(builder), parse(schema))
                                        .compile(from))));
            case OutputFormat.Grammar(String gbnf) ->
                Optional.of(
                        gated("grammar " + gbnf, "grammar", reasoning, insideReasoning, () -> GbnfParser.parse(gbnf)));
        };
    }

    /**
     * The constraint of a conversation in which a tool must be called.
     *
     * @param xml the dialect: {@code <function=...>}, else Hermes' JSON
     * @return empty where the choice is the model's
     * @throws ApiException naming the keyword, when a tool's schema cannot be followed
     */
    public Optional<TokenConstraint> ofToolChoice(
            Prompt.Chat chat, boolean xml, boolean reasoning, boolean insideReasoning) {
        List<Tool> tools = switch (chat.toolChoice()) {
            case ToolChoice.Auto auto -> List.of();
            case ToolChoice.None none -> List.of();
            case ToolChoice.Required required -> chat.tools();
            case ToolChoice.Named(String name) -> {
                List<Tool> named = chat.tools().stream()
                        .filter(tool -> tool.name().equals(name))
                        .toList();
                if (named.isEmpty()) {
                    throw new ApiException(
                            ApiError.invalid("tool_choice", "There is no tool called \"" + name + "\"."));
                }
                yield named;
            }
        };
        if (tools.isEmpty()) {
            return Optional.empty();
        }
        boolean several = chat.parallelToolCalls() && chat.toolChoice() instanceof ToolChoice.Required;
        StringBuilder key = new StringBuilder("tools ").append(xml).append(several);
        tools.forEach(tool -> key.append('\0').append(tool.name()).append('\0').append(tool.parametersSchema()));
        return Optional.of(gated(
                key.toString(),
                "tools",
                reasoning,
                insideReasoning,
                () -> compile(
                        reasoning,
                        (builder, from) ->
                                new ToolCallRules(builder, new JsonRules(builder), xml).calls(from, tools, several))));
    }

    @FunctionalInterface
    private interface Body {
        int append(GrammarBuilder builder, int from);
    }

    private static Automaton compile(boolean afterReasoning, Body body) {
        GrammarBuilder builder = new GrammarBuilder();
        int start = builder.node();
        int from = start;
        if (afterReasoning) {
            // Models put line breaks between the reasoning and the answer.
            from = builder.pattern(start, new Pattern.Repeat(new Pattern.Text("\n"), 0, 2), Map.of());
        }
        builder.end(body.append(builder, from));
        return builder.build(start);
    }

    private static JsonNode parse(String schema) {
        try {
            return MAPPER.readTree(schema);
        } catch (JsonProcessingException error) {
            throw new GrammarException("the schema is not JSON: " + error.getOriginalMessage());
        }
    }

    private TokenConstraint gated(
            String key, String parameter, boolean reasoning, boolean insideReasoning, Supplier<Automaton> automaton) {
        try {
            GrammarMachine machine = machine(key + (reasoning ? "\0reasoning" : ""), automaton);
            GrammarConstraint constraint = new GrammarConstraint(machine);
            return reasoning ? ReasoningGate.of(machine.vocabulary(), constraint, insideReasoning) : constraint;
        } catch (GrammarException error) {
            throw new ApiException(error.toError(parameter));
        }
    }

    /** Makes what the first constraint would wait for, the index of the vocabulary: up to a second of work for 150,000 tokens. */
    public void prepare() {
        vocabulary();
    }

    private synchronized GrammarVocabulary vocabulary() {
        GrammarVocabulary tokens = vocabulary;
        if (tokens == null) {
            tokens = GrammarVocabulary.of(tokenizer, end);
            vocabulary = tokens;
        }
        return tokens;
    }

    private synchronized GrammarMachine machine(String key, Supplier<Automaton> automaton) {
        GrammarMachine known = machines.get(key);
        if (known != null && !known.isWorn()) {
            return known;
        }
        GrammarMachine machine = new GrammarMachine(automaton.get(), vocabulary());
        machines.put(key, machine);
        forgetOldest();
        return machine;
    }

    private void forgetOldest() {
        long masks = machines.values().stream().mapToLong(GrammarMachine::masks).sum();
        Iterator<GrammarMachine> oldest = machines.values().iterator();
        while (machines.size() > KEPT || masks > KEPT_MASKS && machines.size() > 1) {
            masks -= oldest.next().masks();
            oldest.remove();
        }
    }

    /** How many schemas are kept, for tests. */
    synchronized int kept() {
        return machines.size();
    }
}
