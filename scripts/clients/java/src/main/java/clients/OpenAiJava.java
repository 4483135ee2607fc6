package clients;

import static clients.Check.ok;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ResponseFormatJsonSchema;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import com.openai.models.embeddings.CreateEmbeddingResponse;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStreamEvent;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** com.openai:openai-java. */
public final class OpenAiJava {
    private static final String MODEL = "strata-tiny";

    /** Short strings, because a model this small would fill longer ones with anything. */
    private static final Map<String, Object> CITY = Map.of("city", Map.of("type", "string", "maxLength", 20));

    private static final Map<String, Object> PERSON = Map.of(
            "name", Map.of("type", "string", "maxLength", 20),
            "age", Map.of("type", "integer", "minimum", 0, "maximum", 150));

    private static final ChatCompletionFunctionTool WEATHER = ChatCompletionFunctionTool.builder()
            .function(FunctionDefinition.builder()
                    .name("get_weather")
                    .description("Get the weather of a city")
                    .parameters(FunctionParameters.builder()
                            .putAdditionalProperty("type", JsonValue.from("object"))
                            .putAdditionalProperty("properties", JsonValue.from(CITY))
                            .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
                            .build())
                    .build())
            .build();

    private static final ResponseFormatJsonSchema PERSON_FORMAT = ResponseFormatJsonSchema.builder()
            .jsonSchema(ResponseFormatJsonSchema.JsonSchema.builder()
                    .name("person")
                    .strict(true)
                    .schema(ResponseFormatJsonSchema.JsonSchema.Schema.builder()
                            .putAdditionalProperty("type", JsonValue.from("object"))
                            .putAdditionalProperty("properties", JsonValue.from(PERSON))
                            .putAdditionalProperty("required", JsonValue.from(List.of("name", "age")))
                            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
                            .build())
                    .build())
            .build();

    private OpenAiJava() {}

    private static ChatCompletionCreateParams.Builder ask(String text) {
        return ChatCompletionCreateParams.builder()
                .model(MODEL)
                .addUserMessage(text)
                .maxCompletionTokens(200)
                .temperature(0);
    }

    public static void main(String[] arguments) {
        OpenAIClient client = OpenAIOkHttpClient.builder()
                .baseUrl(Check.url() + "/v1")
                .apiKey("none")
                .maxRetries(0)
                .timeout(Duration.ofMinutes(2))
                .build();
        Check check = new Check();
        check.check("models", () -> ok(client.models().list().data().stream().anyMatch(one -> !one.id().isEmpty()), "a model"));
        check.check("chat", () -> {
            ChatCompletion answer = client.chat().completions().create(ask("Hi").build());
            answer.validate();
            ok(!answer.choices().getFirst().message().content().orElse("").isEmpty(), answer);
        });
        check.check("chat stream", () -> {
            StringBuilder text = new StringBuilder();
            long[] tokens = new long[1];
            ChatCompletionCreateParams params = ask("Hi")
                    .streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build())
                    .build();
            try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(params)) {
                stream.stream().forEach(chunk -> {
                    chunk.validate();
                    chunk.choices().forEach(choice -> choice.delta().content().ifPresent(text::append));
                    chunk.usage().ifPresent(usage -> tokens[0] = usage.totalTokens());
                });
            }
            ok(!text.isEmpty() && tokens[0] > 0, text + " " + tokens[0]);
        });
        check.check("tools", () -> {
            ChatCompletion answer = client.chat()
                    .completions()
                    .create(ask("What is the weather in Oslo?")
                            .addTool(WEATHER)
                            .toolChoice(ChatCompletionToolChoiceOption.Auto.REQUIRED)
                            .build());
            var call = answer.choices().getFirst().message().toolCalls().orElseThrow().getFirst().asFunction();
            ok(call.function().arguments().startsWith("{\"city\""), call);
            ChatCompletion after = client.chat()
                    .completions()
                    .create(ask("What is the weather in Oslo?")
                            .addMessage(answer.choices().getFirst().message())
                            .addMessage(com.openai.models.chat.completions.ChatCompletionToolMessageParam.builder()
                                    .toolCallId(call.id())
                                    .content("rain")
                                    .build())
                            .build());
            ok(!after.choices().isEmpty(), after);
        });
        check.check("schema", () -> {
            ChatCompletion answer = client.chat()
                    .completions()
                    .create(ask("Give me a JSON object with name Anna and age 31.")
                            .responseFormat(PERSON_FORMAT)
                            .build());
            ok(answer.choices().getFirst().message().content().orElseThrow().contains("\"age\""), answer);
        });
        check.check("responses", () -> {
            Response answer = client.responses()
                    .create(ResponseCreateParams.builder().model(MODEL).input("Hi").maxOutputTokens(40).build());
            answer.validate();
            ok(answer.output().stream().anyMatch(item -> item.message().isPresent()), answer);
        });
        check.check("responses stream", () -> {
            boolean[] ended = new boolean[1];
            ResponseCreateParams params = ResponseCreateParams.builder().model(MODEL).input("Hi").maxOutputTokens(40).build();
            try (StreamResponse<ResponseStreamEvent> stream = client.responses().createStreaming(params)) {
                stream.stream().forEach(event -> {
                    event.validate();
                    ended[0] |= event.isCompleted() || event.isIncomplete();
                });
            }
            ok(ended[0], "a last event");
        });
        check.check("embeddings", () -> {
            CreateEmbeddingResponse answer = client.embeddings()
                    .create(EmbeddingCreateParams.builder()
                            .model(MODEL)
                            .inputOfArrayOfStrings(List.of("lake", "hill"))
                            .build());
            ok(answer.data().size() == 2 && answer.data().getFirst().embedding().size() > 1, answer.data().size());
        });
        check.check("errors", () -> {
            try {
                client.chat().completions().create(ask("Hi").topP(7).build());
                ok(false, "refused");
            } catch (BadRequestException e) {
                ok(e.param().orElse("").equals("top_p"), e);
            }
        });
        client.close();
        check.exit();
    }
}
