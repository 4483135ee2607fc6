package dev.strata.model;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFiles;
import dev.strata.format.TensorValues;
import dev.strata.format.safetensors.SafetensorsModelFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Prompts with the logits that the reference implementation computed for them. */
public final class GoldenLogits {
    /** One prompt; {@code rows} are the positions whose logits are known. */
    public record Case(int[] prompt, int[] rows, float[][] logits) {}

    /** A greedy continuation of a prompt, with the gap between the best two logits at every step. */
    public record Greedy(int[] prompt, int[] tokens, double[] gaps) {}

    private GoldenLogits() {}

    /** The cases of a folder with golden.json and golden.safetensors. */
    public static List<Case> read(Path folder) {
        return read(folder.resolve("golden.json"), folder.resolve("golden.safetensors"), "logits_");
    }

    static List<Case> read(Path json, Path tensors, String prefix) {
        List<Case> cases = new ArrayList<>();
        try (ModelFiles golden = SafetensorsModelFiles.open(tensors)) {
            JsonNode prompts = json(json).get("prompts");
            for (int i = 0; i < prompts.size(); i++) {
                if (golden.find(prefix + i).isEmpty()) {
                    continue;
                }
                float[] values = TensorValues.floats(golden, prefix + i);
                int count = Math.toIntExact(
                        golden.find(prefix + i).orElseThrow().shape().getFirst());
                float[][] logits = new float[count][];
                for (int row = 0; row < count; row++) {
                    int columns = values.length / count;
                    logits[row] = Arrays.copyOfRange(values, row * columns, (row + 1) * columns);
                }
                cases.add(new Case(ints(prompts.get(i)), rows(golden, i, count), logits));
            }
        }
        return cases;
    }

    private static int[] rows(ModelFiles golden, int index, int count) {
        int[] rows = new int[count];
        boolean named = golden.find("rows_" + index).isPresent();
        for (int i = 0; i < count; i++) {
            rows[i] = named
                    ? (int) golden.data(golden.find("rows_" + index).orElseThrow())
                            .get(java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED, 8L * i)
                    : i;
        }
        return rows;
    }

    public static List<Greedy> greedy(Path json) {
        List<Greedy> continuations = new ArrayList<>();
        JsonNode root = json(json);
        for (JsonNode entry : root.get("greedy")) {
            JsonNode gaps = entry.get("top2_gap");
            double[] values = new double[gaps.size()];
            Arrays.setAll(values, i -> gaps.get(i).asDouble());
            continuations.add(new Greedy(
                    ints(root.get("prompts").get(entry.get("prompt").asInt())), ints(entry.get("tokens")), values));
        }
        return continuations;
    }

    static JsonNode json(Path path) {
        try {
            return new ObjectMapper().readTree(path.toFile());
        } catch (IOException exception) {
            throw new UncheckedIOException(exception);
        }
    }

    static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        Arrays.setAll(values, i -> array.get(i).asInt());
        return values;
    }
}
