package dev.strata.engine;

import dev.strata.api.ApiException;
import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Generation;
import dev.strata.api.InferenceService;
import dev.strata.api.ModelInfo;
import dev.strata.api.Prompt;
import dev.strata.config.SamplingDefaults;
import dev.strata.model.Model;
import dev.strata.sampling.Sampler;
import dev.strata.sampling.SamplingSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves one loaded model: checks and queues requests, and owns the threads that work on them. */
public final class Engine implements InferenceService, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
    private static final long FOREVER = Long.MAX_VALUE / 4;

    private final Model model;
    private final TextSide text;
    private final ModelInfo info;
    private final SamplingDefaults defaults;
    private final EngineParts parts;
    private final Map<String, Object> facts;
    private final Runnable onStuck;
    private final AutoCloseable resources;
    private volatile State state = State.READY;
    private volatile String reason = "";
    private boolean closed;

    Engine(
            Model model,
            TextSide text,
            ModelInfo info,
            SamplingDefaults defaults,
            EngineParts.Settings settings,
            Map<String, Object> facts,
            Runnable onStuck,
            AutoCloseable resources) {
        this.model = model;
        this.text = text;
        this.info = info;
        this.defaults = defaults;
        this.facts = facts;
        this.onStuck = onStuck;
        this.resources = resources;
        parts = EngineParts.create(model, text, settings, this::die, this::stuck);
    }

    /** Does ahead what first requests would wait for, on the caller's thread. */
    public void warmUp() {
        text.warmUp();
    }

    /** Starts the threads. */
    void start() {
        parts.start();
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
        return info;
    }

    @Override
    public Generation generate(GenerateRequest request, DeltaListener listener) {
        requireReady();
        if (request.choices() < 1 || request.choices() > 8) {
            throw Errors.invalid("n", "n has to be from 1 to 8, not " + request.choices());
        }
        checkBias(request.sampling().logitBias());
        TextSide.Prepared prompt = prepare(request.prompt());
        int length = prompt.tokens().length;
        boolean nothing = request.maxTokens() != null && request.maxTokens() == 0;
        int room = info.contextLength() - length;
        if (room < (nothing ? 0 : 1)) {
            throw Errors.tooLong(length, info.contextLength());
        }
        int most = request.maxTokens() == null ? room : Math.min(request.maxTokens(), room);
        long now = System.nanoTime();
        Duration timeout = request.timeout();
        ActiveRequest active = new ActiveRequest(
                request, prompt, listener, now + (timeout == null ? FOREVER : timeout.toNanos()), parts.loop()::wake);
        List<Sequence> choices = sequences(active, most);
        admit(choices);
        return active;
    }

    private List<Sequence> sequences(ActiveRequest active, int most) {
        GenerateRequest request = active.request;
        SamplingSettings settings = SamplingSettings.resolve(
                request.sampling(), defaults, ThreadLocalRandom.current().nextLong());
        List<Sequence> choices = new ArrayList<>();
        for (int choice = 0; choice < request.choices(); choice++) {
            TextSide.Answer answer = text.answer(request, active.prompt, choice);
            Sampler sampler = new Sampler(
                    settings.withSeed(settings.seed() + choice),
                    parts.scratch(),
                    answer.constraint(),
                    request.topLogprobs());
            sampler.prompt(active.prompt.tokens());
            choices.add(new Sequence(active, choice, answer, sampler, most));
        }
        return choices;
    }

    private void admit(List<Sequence> choices) {
        StepLoop loop = parts.loop();
        int beyond = loop.waiting() + loop.running() - parts.parallel();
        if (beyond >= parts.queueLimit()) {
            parts.counters().refused.increment();
            throw Errors.busy(loop.waiting());
        }
        parts.counters().accepted.increment();
        parts.notices().tokenized(choices.getFirst().request.prompt.tokens());
        parts.delivery().expect(choices.getFirst().request);
        loop.submit(choices);
        if (state == State.DEAD) {
            parts.delivery().failAll(Errors.dead(reason));
        }
    }

    private TextSide.Prepared prepare(Prompt prompt) {
        TextSide.Prepared prepared = text.prepare(prompt);
        if (prepared.tokens().length == 0) {
            throw Errors.invalid("prompt", "the prompt is empty");
        }
        for (int token : prepared.tokens()) {
            checkToken("prompt", token);
        }
        return prepared;
    }

    private void checkBias(Map<Integer, Float> bias) {
        for (Map.Entry<Integer, Float> each : bias.entrySet()) {
            checkToken("logit_bias", each.getKey());
            if (!Float.isFinite(each.getValue())) {
                throw Errors.invalid("logit_bias", "the bias of token " + each.getKey() + " is not a number");
            }
        }
    }

    private void checkToken(String parameter, int token) {
        if (token < 0 || token >= model.config().vocabulary()) {
            throw Errors.invalid(
                    parameter,
                    "token " + token + " is not in the vocabulary of "
                            + model.config().vocabulary());
        }
    }

    @Override
    public String render(Prompt.Chat chat) {
        return text.render(chat);
    }

    @Override
    public List<Integer> tokenize(String words, boolean special) {
        List<Integer> ids = new ArrayList<>();
        for (int id : text.tokenize(words, special)) {
            ids.add(id);
        }
        return ids;
    }

    @Override
    public String detokenize(List<Integer> ids) {
        for (int id : ids) {
            checkToken("tokens", id);
        }
        return text.detokenize(ids.stream().mapToInt(Integer::intValue).toArray());
    }

    @Override
    public int countTokens(Prompt prompt) {
        return text.prepare(prompt).tokens().length;
    }

    @Override
    public List<float[]> embed(List<Prompt> inputs, boolean meanPooling) {
        requireReady();
        List<EmbeddingJob> jobs = new ArrayList<>();
        for (Prompt input : inputs) {
            TextSide.Prepared prompt = prepare(input);
            if (prompt.tokens().length > info.contextLength()) {
                throw Errors.tooLong(prompt.tokens().length, info.contextLength());
            }
            jobs.add(new EmbeddingJob(
                    Unanswered.sequence(prompt, parts.scratch()),
                    meanPooling,
                    model.config().hidden()));
        }
        jobs.forEach(parts.loop()::submit);
        List<float[]> vectors = new ArrayList<>();
        try {
            for (EmbeddingJob job : jobs) {
                vectors.add(job.result.get());
            }
            return vectors;
        } catch (ExecutionException e) {
            jobs.forEach(job -> job.sequence.request.cancel());
            throw e.getCause() instanceof ApiException error ? error : new ApiException(Errors.pass(e));
        } catch (InterruptedException e) {
            jobs.forEach(job -> job.sequence.request.cancel());
            Thread.currentThread().interrupt();
            throw Errors.unavailable("interrupted");
        } catch (CancellationException e) {
            throw Errors.unavailable("the engine is stopping");
        }
    }

    @Override
    public int saveSlot(int slot, String fileName) {
        requireReady();
        SlotFiles files = parts.slotFiles();
        return files == null ? InferenceService.super.saveSlot(slot, fileName) : files.save(slot, fileName);
    }

    @Override
    public int restoreSlot(int slot, String fileName) {
        requireReady();
        SlotFiles files = parts.slotFiles();
        return files == null ? InferenceService.super.restoreSlot(slot, fileName) : files.restore(slot, fileName);
    }

    @Override
    public Map<String, Object> status() {
        Map<String, Object> status = new LinkedHashMap<>();
        facts.forEach((name, value) ->
                status.put(name, value instanceof LiveFigures live ? live.of(parts.counters()) : value));
        status.put("state", state.name());
        status.put("context", info.contextLength());
        status.put("parallel", parts.parallel());
        status.put("queue_limit", parts.queueLimit());
        status.put("sampling", defaults.byName());
        status.put("running", running());
        status.put("waiting", waiting());
        status.put("counters", parts.counters().snapshot());
        status.put("prefix_cache", parts.cacheFigures());
        status.put("slots", parts.store().places().facts());
        return status;
    }

    @Override
    public int running() {
        return parts.loop().running();
    }

    @Override
    public int waiting() {
        return parts.loop().waiting();
    }

    EngineParts parts() {
        return parts;
    }

    private void requireReady() {
        if (state == State.DEAD) {
            throw new ApiException(Errors.dead(reason));
        }
        if (state != State.READY) {
            throw Errors.unavailable("the engine is stopping");
        }
    }

    private void die(String why) {
        LOG.error("the engine is dead: {}", why);
        reason = why;
        state = State.DEAD;
        parts.delivery().failAll(Errors.dead(why));
    }

    private void stuck(String why) {
        die(why);
        onStuck.run();
    }

    /** Cancels what runs and closes the model. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (state == State.READY) {
            reason = "stopping";
            state = State.STOPPING;
        }
        parts.close();
        try {
            resources.close();
        } catch (Exception e) {
            LOG.warn("the model could not be closed", e);
        }
    }
}
