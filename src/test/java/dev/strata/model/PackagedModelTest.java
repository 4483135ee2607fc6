package dev.strata.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.device.KvFormat;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The quantized model that comes with the project: its answers and its drafts. */
class PackagedModelTest {
    private static final int END = 4089;
    private static final Path FOLDER = Path.of("models/strata-tiny");

    @Test
    void answersAsTheOriginalWhereTheChoiceIsClear() {
        int passes = 0;
        int tokens = 0;
        try (ModelFiles files = ModelFileOpener.open(FOLDER.resolve("strata-tiny.gguf"));
                ReferenceBackend backend = ReferenceBackend.create(2);
                Model model = ModelLoader.load(files, backend, new ModelOptions(192, 5, 1, KvFormat.F16, true))) {
            assertEquals(ModelConfig.Architecture.QWEN4_EXP, model.config().architecture());
            for (JsonNode conversation : GoldenLogits.json(FOLDER.resolve("golden-chat.json"))) {
                if (conversation.get("min_top2_gap").asDouble() < 0.3) {
                    continue;
                }
                DraftingRunner runner = new DraftingRunner(model, 4, 0.5, END);
                List<Integer> answer = new ArrayList<>();
                answer.add(runner.start(GoldenLogits.ints(conversation.get("prompt_ids"))));
                int[] expected = GoldenLogits.ints(conversation.get("greedy_ids"));
                while (answer.getLast() != END && answer.size() < expected.length) {
                    List<Integer> emitted = runner.step();
                    passes++;
                    tokens += emitted.size();
                    int end = emitted.indexOf(END);
                    answer.addAll(end < 0 ? emitted : emitted.subList(0, end + 1));
                }
                assertArrayEquals(
                        expected,
                        answer.stream().mapToInt(Integer::intValue).toArray(),
                        conversation.get("text").asText());
            }
        }
        assertTrue(tokens > 3 * passes, tokens + " tokens in " + passes + " passes");
    }
}
