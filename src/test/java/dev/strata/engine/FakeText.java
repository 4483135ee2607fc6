package dev.strata.engine;

import dev.strata.api.Delta;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.Prompt;
import dev.strata.sampling.Logprobs;
import dev.strata.sampling.TokenConstraint;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Text for {@link FakeModel}: every token is the character 32 + id; a turn of a chat ends with token 0. */
final class FakeText implements TextSide {
    static final int TURN_END = 0;

    Supplier<@Nullable TokenConstraint> constraints = () -> null;

    @Override
    public Prepared prepare(Prompt prompt) {
        return switch (prompt) {
            case Prompt.Tokens tokens ->
                plain(tokens.ids().stream().mapToInt(Integer::intValue).toArray());
            case Prompt.Text text -> plain(tokenize(text.text(), false));
            case Prompt.FillIn fill -> plain(tokenize(fill.before() + fill.after(), false));
            case Prompt.Chat chat -> conversation(chat);
        };
    }

    private static Prepared plain(int[] tokens) {
        return new Prepared(tokens, new int[0], 0, false);
    }

    private Prepared conversation(Prompt.Chat chat) {
        List<Integer> tokens = new ArrayList<>();
        List<Integer> ends = new ArrayList<>();
        int system = 0;
        for (Message message : chat.messages()) {
            String content = message.content();
            for (int token : tokenize(content == null ? "" : content, false)) {
                tokens.add(token);
            }
            tokens.add(TURN_END);
            ends.add(tokens.size());
            if (message.role().equals("system")) {
                system = tokens.size();
            }
        }
        return new Prepared(
                tokens.stream().mapToInt(Integer::intValue).toArray(),
                ends.stream().mapToInt(Integer::intValue).toArray(),
                system,
                false);
    }

    @Override
    public Answer answer(GenerateRequest request, Prepared prompt, int choice) {
        @Nullable TokenConstraint constraint = constraints.get();
        return new Answer() {
            private final StringBuilder text = new StringBuilder();

            @Override
            public @Nullable TokenConstraint constraint() {
                return constraint;
            }

            @Override
            public boolean token(int id, @Nullable Logprobs logprobs, List<Delta> out) {
                String piece = character(id);
                text.append(piece);
                out.add(new Delta.Content(choice, piece, List.of()));
                return request.stop().stream().anyMatch(stop -> text.indexOf(stop) >= 0);
            }

            @Override
            public FinishReason end(FinishReason reason, List<Delta> out) {
                return reason;
            }

            @Override
            public int reasoningTokens() {
                return 0;
            }
        };
    }

    static String character(int id) {
        return String.valueOf((char) (32 + id));
    }

    @Override
    public String render(Prompt.Chat chat) {
        return detokenize(prepare(chat).tokens());
    }

    @Override
    public int[] tokenize(String text, boolean special) {
        return text.chars().map(c -> c - 32).toArray();
    }

    @Override
    public String detokenize(int[] ids) {
        StringBuilder text = new StringBuilder();
        for (int id : ids) {
            text.append(character(id));
        }
        return text.toString();
    }

    @Override
    public byte[] bytes(int id) {
        return character(id).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public boolean isEnd(int id) {
        return id == FakeModel.END;
    }
}
