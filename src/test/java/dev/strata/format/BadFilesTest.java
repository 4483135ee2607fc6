package dev.strata.format;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.safetensors.JsonFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every malformed model of the golden collection whose fault lies in the container gives one error that names what is wrong. */
class BadFilesTest {
    /** Faults that only a reader of the model's meaning can see; the containers are sound. */
    private static final Pattern SOUND_CONTAINER = Pattern.compile(
            ".*(missing_block_count|missing_expert_count|expert_shape|nan_scale|inf_scale|unknown_arch|config_missing).*");

    private static final Pattern WORDS = Pattern.compile("[\\w.\\[\\],/-]*[\\d._/\\[][\\w.\\[\\],/-]*");

    private record Case(String path, boolean accepted, List<String> names) {}

    static Stream<Case> cases() {
        List<Object> cases = JsonFile.list(JsonFile.read(Shared.require("golden/bad/index.json")), "cases");
        assertTrue(cases.size() >= 48, "index lists " + cases.size() + " cases");
        return cases.stream().map(value -> {
            Map<String, Object> described = object(value);
            String path = JsonFile.text(described, "path");
            boolean accepted = JsonFile.text(described, "expect").equals("accept")
                    || SOUND_CONTAINER.matcher(path).matches();
            List<String> names = JsonFile.list(described, "error_must_name").stream()
                    .map(String.class::cast)
                    .toList();
            return new Case(path, accepted, names);
        });
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @ParameterizedTest
    @MethodSource("cases")
    void badFileIsNamedClearly(Case described) {
        Path path = Shared.require("golden/bad/" + described.path);
        if (described.accepted) {
            try (ModelFiles files = ModelFileOpener.open(path)) {
                assertFalse(files.tensors().isEmpty());
                files.tensors()
                        .forEach(tensor ->
                                assertEquals(tensor.bytes(), files.data(tensor).byteSize()));
            }
            return;
        }
        ModelFormatException error = assertThrows(
                ModelFormatException.class, () -> ModelFileOpener.open(path).close());
        String message = String.valueOf(error.getMessage());
        assertTrue(message.contains(String.valueOf(path.getParent())), message);
        assertAll(described.names.stream()
                .map(name -> () ->
                        assertTrue(isNamed(name, message), () -> "\"" + name + "\" is not named in: " + message)));
    }

    /** Whether one of the entry's alternatives is there with all its words. */
    private static boolean isNamed(String name, String message) {
        return Stream.of(name.split(" or "))
                .anyMatch(alternative -> wanted(alternative).stream().allMatch(message::contains));
    }

    /** What has to be in the message: names and numbers of the list's entry, or the plain words it consists of. */
    private static List<String> wanted(String name) {
        List<String> words = new ArrayList<>();
        Matcher matcher = WORDS.matcher(name);
        while (matcher.find()) {
            words.add(matcher.group());
        }
        if (!words.isEmpty()) {
            return words;
        }
        return switch (name) {
            case "file path" -> List.of();
            case "tensor index", "name" -> List.of("tensor");
            case "offset of the key" -> List.of("offset");
            case "offset and file size" -> List.of("offset", "file size");
            case "expected and actual size", "needed and available bytes" -> List.of("needs", "available");
            case "shape and bytes" -> List.of("shape", "bytes");
            case "JSON position" -> List.of("position");
            default -> List.of(name);
        };
    }
}
