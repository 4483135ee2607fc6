package dev.strata.cli;

import dev.strata.api.ApiException;
import dev.strata.api.Delta;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Message;
import dev.strata.api.OutputFormat;
import dev.strata.api.Prompt;
import dev.strata.api.SamplingOptions;
import dev.strata.api.ToolChoice;
import dev.strata.config.Options;
import dev.strata.engine.Engine;
import dev.strata.engine.EngineLoader;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code strata chat}: a conversation in the terminal. */
@Command(
        name = "chat",
        description = "Talks with the model in the terminal. /clear begins anew, /exit ends.",
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class ChatCommand implements Callable<Integer> {
    @Mixin
    private ModelFlags model = new ModelFlags();

    @Mixin
    private EngineFlags engineFlags = new EngineFlags();

    @Mixin
    private TierFlags tiers = new TierFlags();

    @Option(names = "--system", paramLabel = "TEXT", description = "System prompt.")
    private @Nullable String system;

    @Option(names = "--temperature", paramLabel = "T", description = "Default: the model's own.")
    private @Nullable Float temperature;

    @Option(names = "--seed", paramLabel = "N", description = "Same seed, same answers.")
    private @Nullable Long seed;

    @Option(names = "--max-tokens", paramLabel = "N", description = "Longest answer. Default: what the context leaves.")
    private @Nullable Integer maxTokens;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        boolean terminal = ProgressBar.onTerminal();
        Options options = tiers.addTo(model.options(engineFlags.options(), List.of()));
        try (Engine engine = EngineLoader.load(options, () -> {})) {
            model.quieten();
            talk(engine, new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), out, terminal);
        }
        return 0;
    }

    /** Reads a line, answers it, until the input ends. */
    void talk(Engine engine, BufferedReader in, PrintWriter out, boolean terminal)
            throws IOException, InterruptedException {
        List<Message> messages = begin();
        while (true) {
            if (terminal) {
                out.print("> ");
                out.flush();
            }
            String line = in.readLine();
            if (line == null || line.strip().equals("/exit")) {
                return;
            }
            if (line.strip().equals("/clear")) {
                messages = begin();
            } else if (!line.isBlank()) {
                messages.add(Message.of("user", line));
                messages.add(Message.of("assistant", answer(engine, messages, out, terminal)));
            }
        }
    }

    private List<Message> begin() {
        List<Message> messages = new ArrayList<>();
        String first = system;
        if (first != null) {
            messages.add(Message.of("system", first));
        }
        return messages;
    }

    private String answer(Engine engine, List<Message> messages, PrintWriter out, boolean terminal)
            throws InterruptedException {
        StringBuilder said = new StringBuilder();
        SamplingOptions sampling =
                new SamplingOptions(temperature, null, null, null, null, null, null, null, seed, Map.of());
        GenerateRequest request = new GenerateRequest(
                new Prompt.Chat(List.copyOf(messages), List.of(), new ToolChoice.None(), false, Map.of()),
                sampling,
                new OutputFormat.Text(),
                maxTokens,
                List.of(),
                -1,
                1,
                false,
                false,
                false,
                null);
        // A terminal may stand still, the engine must not.
        BlockingQueue<Delta> deltas = new LinkedBlockingQueue<>();
        try {
            engine.generate(request, deltas::add);
            while (print(deltas.take(), said, out, terminal)) {
                out.flush();
            }
        } catch (ApiException refused) {
            out.print("[" + refused.getMessage() + "]");
        }
        out.println();
        return said.toString();
    }

    /** Whether more follows. */
    private static boolean print(Delta delta, StringBuilder said, PrintWriter out, boolean terminal) {
        switch (delta) {
            case Delta.Content content -> {
                said.append(content.text());
                out.print(content.text());
            }
            case Delta.Reasoning thought -> out.print(terminal ? dim(thought.text()) : "");
            case Delta.ToolCallStart call -> out.print("[" + call.name() + "]");
            case Delta.ToolCallArguments arguments -> out.print(arguments.fragment());
            case Delta.Progress progress -> {}
            case Delta.Failed failed -> {
                out.print("[" + failed.error().message() + "]");
                return false;
            }
            case Delta.Finished finished -> {
                return false;
            }
        }
        return true;
    }

    private static String dim(String text) {
        return "\u001b[2m" + text + "\u001b[0m";
    }
}
