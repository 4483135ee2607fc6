package dev.strata.server.openai;

import com.fasterxml.jackson.databind.JsonNode;
import dev.strata.api.OutputFormat;
import dev.strata.server.http.Fields;
import dev.strata.server.http.Json;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the answer has to look like: {@code response_format}, or llama.cpp's {@code grammar} and {@code json_schema}. */
final class FormatReader {
    private FormatReader() {}

    static OutputFormat read(Fields fields) {
        List<OutputFormat> asked = new ArrayList<>();
        Fields format = fields.object("response_format");
        if (format != null) {
            asked.add(responseFormat(format));
        }
        JsonNode schema = fields.get("json_schema");
        if (schema != null) {
            asked.add(schema("json_schema", schema, fields.path("json_schema")));
        }
        String grammar = fields.string("grammar");
        if (grammar != null && !grammar.isBlank()) {
            asked.add(new OutputFormat.Grammar(grammar));
        }
        asked.removeIf(OutputFormat.Text.class::isInstance);
        if (asked.size() > 1) {
            throw fields.invalid(
                    format == null ? "json_schema" : "response_format",
                    "Only one of 'response_format', 'json_schema' and 'grammar' can shape the answer");
        }
        return asked.isEmpty() ? new OutputFormat.Text() : asked.getFirst();
    }

    /** The chat shape: the schema lies in an object {@code json_schema}. */
    private static OutputFormat responseFormat(Fields format) {
        String type = format.requireString("type");
        return switch (type) {
            case "text" -> new OutputFormat.Text();
            case "json_object" -> {
                JsonNode schema = format.get("schema");
                yield schema == null
                        ? new OutputFormat.JsonObject()
                        : schema("response", schema, format.path("schema"));
            }
            case "json_schema" -> {
                Fields wrapper = format.object("json_schema");
                if (wrapper == null) {
                    throw format.missing("json_schema");
                }
                yield schema(wrapper.string("name", "response"), wrapper.require("schema"), wrapper.path("schema"));
            }
            default -> throw unknown(format, type);
        };
    }

    /** The shape of the Responses API, where the schema lies beside the type. */
    static OutputFormat flat(@Nullable Fields format) {
        if (format == null) {
            return new OutputFormat.Text();
        }
        String type = format.requireString("type");
        return switch (type) {
            case "text" -> new OutputFormat.Text();
            case "json_object" -> new OutputFormat.JsonObject();
            case "json_schema" ->
                schema(format.string("name", "response"), format.require("schema"), format.path("schema"));
            default -> throw unknown(format, type);
        };
    }

    private static OutputFormat schema(String name, JsonNode schema, String path) {
        if (!schema.isObject() && !schema.isBoolean()) {
            throw Fields.wrong(path, "a JSON schema", schema);
        }
        return new OutputFormat.JsonSchema(name, Json.text(schema));
    }

    private static RuntimeException unknown(Fields format, String type) {
        return format.invalid(
                "type", "'" + format.path("type") + "' must be text, json_object or json_schema, not '" + type + "'");
    }
}
