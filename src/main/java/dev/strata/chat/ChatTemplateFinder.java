package dev.strata.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.tokenizer.Tokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;

/** Finds the chat template of a model's files. */
final class ChatTemplateFinder {
    /** @param name where it was found, for messages */
    record Found(String name, String text) {}

    private ChatTemplateFinder() {}

    /**
     * The template of the files; for ChatML models without one, that of this package.
     *
     * @throws ModelFormatException when the model is of neither kind
     */
    static Optional<Found> find(ModelFiles files, Tokenizer tokenizer) {
        Optional<Found> own = switch (files.container()) {
            case GGUF -> gguf(files);
            case SAFETENSORS -> folder(files);
        };
        if (own.isPresent() || tokenizer.id("<|im_start|>").isEmpty()) {
            return own;
        }
        return Optional.of(new Found("built-in ChatML template", chatMl()));
    }

    private static Optional<Found> gguf(ModelFiles files) {
        return files.metadata().get("tokenizer.chat_template") instanceof String text
                ? Optional.of(new Found("tokenizer.chat_template of " + files.path(), text))
                : Optional.empty();
    }

    private static Optional<Found> folder(ModelFiles files) {
        Optional<String> file = files.companion("chat_template.jinja");
        if (file.isPresent()) {
            return Optional.of(new Found(files.path() + "/chat_template.jinja", file.get()));
        }
        JsonNode template = config(files).path("chat_template");
        if (template.isArray()) {
            for (JsonNode named : template) {
                if (named.path("name").asText().equals("default")) {
                    template = named.path("template");
                    break;
                }
            }
        }
        return template.isTextual()
                ? Optional.of(
                        new Found("chat_template of " + files.path() + "/tokenizer_config.json", template.asText()))
                : Optional.empty();
    }

    static JsonNode config(ModelFiles files) {
        String text = files.companion("tokenizer_config.json").orElse("{}");
        try {
            return new ObjectMapper().readTree(text);
        } catch (JsonProcessingException error) {
            throw new ModelFormatException(
                    files.path() + "/tokenizer_config.json is not valid JSON: " + error.getOriginalMessage(), error);
        }
    }

    private static String chatMl() {
        try (InputStream in = Objects.requireNonNull(ChatTemplateFinder.class.getResourceAsStream("chatml.jinja"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
