package dev.strata.server;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.FinishReason;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.api.InferenceService;
import dev.strata.api.Message;
import dev.strata.api.ModelInfo;
import dev.strata.api.Prompt;
import dev.strata.api.Timings;
import dev.strata.api.TokenLogprob;
import dev.strata.api.Usage;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** An engine whose answers are scripts; every request runs on a thread of its own, as deltas do in the real one. */
final class FakeInferenceService implements InferenceService {
    /** What an answer does. */
    interface Script {
        void run(Output output) throws InterruptedException;
    }

    static final Usage USAGE = new Usage(11, 3, 5, 2);
    static final Timings TIMINGS = new Timings(3, 8, 40.0, 5, 50.0, 0, 0);

    final BlockingQueue<GenerateRequest> requests = new LinkedBlockingQueue<>();
    final BlockingQueue<GenerateRequest> cancellations = new LinkedBlockingQueue<>();
    final AtomicInteger running = new AtomicInteger();
    volatile State state = State.READY;
    volatile String reason = "";
    volatile @Nullable ApiError refusal;
    volatile boolean fillInTheMiddle;
    volatile @Nullable CountDownLatch hang;
    volatile Map<String, Object> facts = new LinkedHashMap<>(Map.of("backend", "fake", "memory", Map.of("used", 7)));
    private volatile Script script;

    private final Executor threads;

    FakeInferenceService(Script script) {
        this(script, answer -> Thread.ofVirtual().name("fake-engine").start(answer));
    }

    /** @param threads run the scripts */
    FakeInferenceService(Script script, Executor threads) {
        this.script = script;
        this.threads = threads;
    }

    /** Answers "Hello world" in two pieces, as often as asked. */
    static FakeInferenceService hello() {
        return new FakeInferenceService(output -> {
            for (int choice = 0; choice < output.request.choices(); choice++) {
                output.content(choice, "Hello");
                output.content(choice, " world");
                output.finish(choice, FinishReason.STOP);
            }
        });
    }

    void script(Script next) {
        script = next;
    }

    @Override
    public State state() {
        return state;
    }

    @Override
    public String stateReason() {
        return reason;
    }

    @Override
    public ModelInfo model() {
        return new ModelInfo(
                "strata-tiny",
                List.of("tiny"),
                "qwen4_exp",
                20_000_000,
                4096,
                8192,
                1000,
                64,
                1_700_000_000,
                true,
                true,
                "{{ messages }}",
                "",
                "<|im_end|>",
                fillInTheMiddle);
    }

    @Override
    public Generation generate(GenerateRequest request, DeltaListener listener) {
        ApiError refused = refusal;
        if (refused != null) {
            throw new ApiException(refused);
        }
        requests.add(request);
        Output output = new Output(request, listener);
        running.incrementAndGet();
        Script now = script;
        threads.execute(() -> {
            try {
                now.run(output);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                running.decrementAndGet();
            }
        });
        return new Generation() {
            @Override
            public int promptTokens() {
                return USAGE.promptTokens();
            }

            @Override
            public void cancel() {
                if (output.cancelled.getCount() > 0) {
                    output.cancelled.countDown();
                    cancellations.add(request);
                }
            }
        };
    }

    @Override
    public String render(Prompt.Chat chat) {
        StringBuilder text = new StringBuilder();
        for (Message message : chat.messages()) {
            text.append('<').append(message.role()).append('>').append(message.content());
        }
        return text.toString();
    }

    @Override
    public List<Integer> tokenize(String text, boolean special) {
        return text.chars().boxed().toList();
    }

    @Override
    public String detokenize(List<Integer> ids) {
        StringBuilder text = new StringBuilder();
        ids.forEach(id -> text.append((char) id.intValue()));
        return text.toString();
    }

    @Override
    public int countTokens(Prompt prompt) {
        return switch (prompt) {
            case Prompt.Chat chat -> render(chat).length();
            case Prompt.Text text -> text.text().length();
            case Prompt.Tokens tokens -> tokens.ids().size();
            case Prompt.FillIn gap -> gap.before().length() + gap.after().length();
        };
    }

    @Override
    public List<float[]> embed(List<Prompt> inputs, boolean meanPooling) {
        List<float[]> vectors = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            vectors.add(meanPooling ? new float[] {0.6f, 0.8f} : new float[] {0.8f, 0.6f});
        }
        return vectors;
    }

    @Override
    public Map<String, Object> status() {
        CountDownLatch stuck = hang;
        if (stuck != null) {
            try {
                stuck.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return facts;
    }

    @Override
    public int running() {
        return running.get();
    }

    @Override
    public int waiting() {
        return 0;
    }

    /** The engine's end of one answer. */
    static final class Output {
        final GenerateRequest request;
        final CountDownLatch cancelled = new CountDownLatch(1);
        private final DeltaListener listener;

        Output(GenerateRequest request, DeltaListener listener) {
            this.request = request;
            this.listener = listener;
        }

        void send(Delta delta) {
            later(delta);
            pause();
        }

        /** What reaches the client after the next {@link #pause} of anybody. */
        void later(Delta delta) {
            listener.onDelta(delta);
        }

        void pause() {
            listener.onPause();
        }

        void content(String text) {
            send(new Delta.Content(0, text, List.of()));
        }

        void content(int choice, String text) {
            send(new Delta.Content(choice, text, List.of()));
        }

        void content(String text, TokenLogprob... tokens) {
            send(new Delta.Content(0, text, List.of(tokens)));
        }

        void reasoning(String text) {
            send(new Delta.Reasoning(0, text, List.of()));
        }

        void call(int index, String id, String name, String... fragments) {
            send(new Delta.ToolCallStart(0, index, id, name));
            for (String fragment : fragments) {
                send(new Delta.ToolCallArguments(0, index, fragment));
            }
        }

        void finish(FinishReason reason) {
            finish(0, reason);
        }

        void finish(int choice, FinishReason reason) {
            send(new Delta.Finished(choice, reason, USAGE, TIMINGS));
        }

        void fail(ApiError error) {
            send(new Delta.Failed(0, error));
        }

        boolean isCancelled() {
            return cancelled.getCount() == 0;
        }

        /** Until somebody cancels. */
        void awaitCancel() throws InterruptedException {
            if (!cancelled.await(30, TimeUnit.SECONDS)) {
                throw new AssertionError("Nobody cancelled the request within 30 s");
            }
        }
    }

    static TokenLogprob token(int id, String text, float logprob, TokenLogprob... top) {
        return new TokenLogprob(id, text, text.getBytes(StandardCharsets.UTF_8), logprob, List.of(top));
    }
}
