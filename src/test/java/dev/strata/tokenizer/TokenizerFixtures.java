package dev.strata.tokenizer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFileOpener;
import dev.strata.format.ModelFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/** Tokenizers and texts that tests of several packages use. */
public final class TokenizerFixtures {
    private TokenizerFixtures() {}

    /** The tokenizer of strata-tiny, out of the model that comes with the project. */
    public static Tokenizer strataTiny() {
        try (ModelFiles files = ModelFileOpener.open(Path.of("models/strata-tiny/strata-tiny.gguf"))) {
            return TokenizerLoader.load(files);
        }
    }

    /** Qwen3's tokenizer, cut down to what the golden texts need. */
    public static Tokenizer qwen3Part() {
        return JsonTokenizer.read(resource("qwen3-part.json"), JsonTokenizer.Companions.NONE, "qwen3-part.json");
    }

    /** The whole tokenizer of Qwen3, where the shared folder is. */
    public static Optional<Tokenizer> qwen3() {
        return shared("tokenizers/qwen3/tokenizer.json")
                .map(json ->
                        JsonTokenizer.read(json, JsonTokenizer.Companions.NONE, "tokenizers/qwen3/tokenizer.json"));
    }

    /** Text of a file in the shared folder: STRATA_SHARED, or ../shared beside the project. */
    public static Optional<String> shared(String name) {
        String configured = System.getProperty("STRATA_SHARED", System.getenv("STRATA_SHARED"));
        Path path = Path.of(configured == null ? "../shared" : configured).resolve(name);
        try {
            return Files.exists(path) ? Optional.of(Files.readString(path)) : Optional.empty();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public static JsonNode golden(String name) {
        try {
            return new ObjectMapper().readTree(resource(name));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static String resource(String name) {
        try (InputStream in = TokenizerFixtures.class.getResourceAsStream(name)) {
            return new String(Objects.requireNonNull(in, name).readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public static int[] ids(JsonNode array) {
        int[] ids = new int[array.size()];
        for (int index = 0; index < ids.length; index++) {
            ids[index] = array.get(index).asInt();
        }
        return ids;
    }
}
