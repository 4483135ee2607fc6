package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import dev.strata.format.Shared;
import dev.strata.format.TensorValues;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The small trained model against its own golden figures, drafts included. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StrataTinyTest {
    private static final int END = 4089;

    private Path folder;
    private ModelFiles files;
    private ReferenceBackend backend;
    private Model model;

    @BeforeAll
    void load() {
        folder = Shared.require("models/strata-tiny");
        files = ModelFileOpener.open(folder);
        backend = ReferenceBackend.create(2);
        model = ModelLoader.load(files, backend, new ModelOptions(192, 5, 1, KvFormat.F32, true));
    }

    @AfterAll
    void close() {
        if (model != null) {
            model.close();
            backend.close();
            files.close();
        }
    }

    @Test
    void readsItsDescriptionFromMetadata() {
        ModelConfig config = model.config();
        assertEquals(ModelConfig.Architecture.QWEN4_EXP, config.architecture());
        assertEquals(8, config.layers());
        assertEquals(1, config.draftLayers());
        assertEquals(List.of(4087, END), config.endTokens());
    }

    /** Differences are relative to the spread of the logits, which is ten times that of random models. */
    @Test
    void logitsOfItsGoldenPrompt() {
        int[] tokens = GoldenLogits.ints(
                GoldenLogits.json(folder.resolve("golden.json")).get("tokens"));
        float[][] logits = new LogitsRunner(model).append(tokens, 192);
        try (ModelFiles golden = SafetensorsModelFiles.open(folder.resolve("golden.safetensors"))) {
            float[] expected = TensorValues.floats(golden, "logits");
            int vocabulary = model.config().vocabulary();
            for (int row = 0; row < tokens.length; row++) {
                float[] one = Arrays.copyOfRange(expected, row * vocabulary, (row + 1) * vocabulary);
                double error = Logits.normalisedError(one, logits[row]);
                assertTrue(error < 2e-4, "position " + row + " has an error of " + error);
                assertEquals(Logits.argmax(one), Logits.argmax(logits[row]));
            }
        }
    }

    @Test
    void greedyAnswersOfItsGoldenConversations() {
        LogitsRunner runner = new LogitsRunner(model);
        for (JsonNode conversation : GoldenLogits.json(folder.resolve("golden-chat.json"))) {
            runner.restart();
            int[] expected = GoldenLogits.ints(conversation.get("greedy_ids"));
            float[][] logits = runner.append(GoldenLogits.ints(conversation.get("prompt_ids")), 192);
            // Each token is the best one behind those before it, so that the answer is the greedy one.
            float[][] rest = runner.append(expected, 192);
            int[] answer = new int[expected.length];
            for (int i = 0; i < expected.length; i++) {
                answer[i] = Logits.argmax(i == 0 ? logits[logits.length - 1] : rest[i - 1]);
            }
            assertArrayEquals(expected, answer, conversation.get("text").asText());
        }
    }

    /** With up to four chained drafts the answers stay the same and take as many passes as the model's card says. */
    @Test
    void draftsAreAcceptedAsOftenAsTheCardSays() {
        int[] accepted = new int[5];
        JsonNode conversations = GoldenLogits.json(folder.resolve("golden-chat.json"));
        for (int i = 0; i < 12; i++) {
            JsonNode conversation = conversations.get(i);
            List<Integer> answer = new ArrayList<>();
            DraftingRunner runner = new DraftingRunner(model, 4, 0.5, END);
            answer.add(runner.start(GoldenLogits.ints(conversation.get("prompt_ids"))));
            while (answer.getLast() != END) {
                List<Integer> emitted = runner.step();
                int end = emitted.indexOf(END);
                answer.addAll(end < 0 ? emitted : emitted.subList(0, end + 1));
                accepted[emitted.size() - 1]++;
            }
            int[] expected = GoldenLogits.ints(conversation.get("greedy_ids"));
            assertArrayEquals(
                    expected, answer.stream().mapToInt(Integer::intValue).toArray(), "conversation " + i);
        }
        assertArrayEquals(new int[] {14, 10, 14, 10, 26}, accepted);
    }
}
