package dev.strata.engine;

import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.api.ToolChoice;
import dev.strata.chat.ChatRenderer;
import dev.strata.chat.FillInPrompt;
import dev.strata.chat.OutputSyntax;
import dev.strata.chat.RenderedPrompt;
import dev.strata.grammar.ConstraintFactory;
import dev.strata.sampling.TokenConstraint;
import dev.strata.tokenizer.Tokenizer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The text side of a real model: its tokenizer, its chat template, and the readers of its answers. */
final class ModelText implements TextSide {
    private final Tokenizer tokenizer;
    private final ChatRenderer renderer;
    private final Set<Integer> ends;
    private final ConstraintFactory constraints;

    /** @param ends tokens that end an answer */
    ModelText(Tokenizer tokenizer, ChatRenderer renderer, Set<Integer> ends) {
        this.tokenizer = tokenizer;
        this.renderer = renderer;
        this.ends = Set.copyOf(ends);
        constraints = new ConstraintFactory(tokenizer, ends);
    }

    @Override
    public void warmUp() {
        constraints.prepare();
    }

    @Override
    public Prepared prepare(Prompt prompt) {
        return switch (prompt) {
            case Prompt.Chat chat -> conversation(chat);
            case Prompt.Text text -> plain(withBegin(tokenizer.encode(text.text(), false)));
            case Prompt.Tokens tokens ->
                plain(tokens.ids().stream().mapToInt(Integer::intValue).toArray());
            case Prompt.FillIn gap -> plain(FillInPrompt.encode(tokenizer, gap.before(), gap.after()));
        };
    }

    private static Prepared plain(int[] tokens) {
        return new Prepared(tokens, new int[0], 0, false);
    }

    private int[] withBegin(int[] tokens) {
        if (!tokenizer.specialTokens().addBegin()
                || tokenizer.specialTokens().begin().isEmpty()) {
            return tokens;
        }
        int[] longer = new int[tokens.length + 1];
        longer[0] = tokenizer.specialTokens().begin().getAsInt();
        System.arraycopy(tokens, 0, longer, 1, tokens.length);
        return longer;
    }

    private Prepared conversation(Prompt.Chat chat) {
        RenderedPrompt rendered = renderer.prepare(chat);
        int[] tokens = rendered.ids();
        int[] turnEnds = new int[tokens.length];
        int count = 0;
        for (int i = 0; i < tokens.length; i++) {
            if (ends.contains(tokens[i])) {
                turnEnds[count++] = i + 1;
            }
        }
        boolean system = !chat.tools().isEmpty() || startsWithSystem(chat.messages());
        return new Prepared(
                tokens,
                Arrays.copyOf(turnEnds, count),
                system && count > 1 ? turnEnds[0] : 0,
                rendered.insideReasoning());
    }

    private static boolean startsWithSystem(List<Message> messages) {
        return !messages.isEmpty() && messages.getFirst().role().equals("system");
    }

    @Override
    public Answer answer(GenerateRequest request, Prepared prompt, int choice) {
        TokenConstraint constraint = constraint(request, prompt).orElse(null);
        return new ParsedAnswer(tokenizer, syntax(request.prompt(), prompt), request.stop(), choice, constraint);
    }

    /** The rule of the answer's format, or of a tool call that the client insists on; either begins behind the reasoning. */
    private Optional<TokenConstraint> constraint(GenerateRequest request, Prepared prepared) {
        boolean chatting = request.prompt() instanceof Prompt.Chat;
        boolean reasoning = chatting && renderer.supportsReasoning();
        Optional<TokenConstraint> called = request.prompt() instanceof Prompt.Chat chat
                ? constraints.ofToolChoice(chat, renderer.callsInXml(), reasoning, prepared.insideReasoning())
                : Optional.empty();
        return called.isPresent() ? called : constraints.of(request.format(), reasoning, prepared.insideReasoning());
    }

    private OutputSyntax syntax(Prompt prompt, Prepared prepared) {
        if (!(prompt instanceof Prompt.Chat chat)) {
            return OutputSyntax.PLAIN;
        }
        boolean tools = !(chat.toolChoice() instanceof ToolChoice.None);
        return new OutputSyntax(
                renderer.supportsReasoning(),
                prepared.insideReasoning(),
                tools ? chat.tools() : List.of(),
                chat.parallelToolCalls() ? Integer.MAX_VALUE : 1);
    }

    @Override
    public String render(Prompt.Chat chat) {
        return renderer.render(chat);
    }

    @Override
    public int[] tokenize(String text, boolean special) {
        return tokenizer.encode(text, special);
    }

    @Override
    public String detokenize(int[] ids) {
        return tokenizer.decode(ids);
    }

    @Override
    public byte[] bytes(int id) {
        return tokenizer.bytes(id);
    }

    @Override
    public boolean isEnd(int id) {
        return ends.contains(id);
    }
}
