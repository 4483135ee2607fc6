package clients;

import static clients.Check.ok;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.model.output.FinishReason;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** dev.langchain4j:langchain4j-open-ai. */
public final class LangChain4j {
    private static final String MODEL = "strata-tiny";

    private LangChain4j() {}

    private static OpenAiChatModel.OpenAiChatModelBuilder model() {
        return OpenAiChatModel.builder()
                .baseUrl(Check.url() + "/v1")
                .apiKey("none")
                .modelName(MODEL)
                .temperature(0.0)
                .maxTokens(200)
                .maxRetries(0);
    }

    public static void main(String[] arguments) {
        Check check = new Check();
        check.check("chat", () -> ok(!model().build().chat("Hi").isEmpty(), "text"));
        check.check("stream", () -> {
            CompletableFuture<ChatResponse> whole = new CompletableFuture<>();
            StringBuilder text = new StringBuilder();
            OpenAiStreamingChatModel.builder()
                    .baseUrl(Check.url() + "/v1")
                    .apiKey("none")
                    .modelName(MODEL)
                    .temperature(0.0)
                    .build()
                    .chat("Hi", new StreamingChatResponseHandler() {
                        @Override
                        public void onPartialResponse(String piece) {
                            text.append(piece);
                        }

                        @Override
                        public void onCompleteResponse(ChatResponse response) {
                            whole.complete(response);
                        }

                        @Override
                        public void onError(Throwable error) {
                            whole.completeExceptionally(error);
                        }
                    });
            ChatResponse response = whole.get(60, TimeUnit.SECONDS);
            ok(text.toString().equals(response.aiMessage().text()), text);
            ok(response.tokenUsage().outputTokenCount() > 0, response.tokenUsage());
        });
        check.check("tools round trip", () -> {
            ToolSpecification weather = ToolSpecification.builder()
                    .name("get_weather")
                    .description("Get the weather of a city")
                    .parameters(JsonObjectSchema.builder().addStringProperty("city").required("city").build())
                    .build();
            UserMessage question = UserMessage.from("What is the weather in Oslo?");
            ChatResponse first = model().build().chat(ChatRequest.builder()
                    .messages(question)
                    .toolSpecifications(weather)
                    .toolChoice(ToolChoice.REQUIRED)
                    .build());
            AiMessage message = first.aiMessage();
            ok(message.hasToolExecutionRequests() && first.finishReason() == FinishReason.TOOL_EXECUTION, first);
            ChatResponse second = model().build().chat(ChatRequest.builder()
                    .messages(question, message, ToolExecutionResultMessage.from(message.toolExecutionRequests().getFirst(), "rain"))
                    .build());
            ok(second.aiMessage() != null, second);
        });
        check.check("schema", () -> {
            JsonSchema schema = JsonSchema.builder()
                    .name("person")
                    .rootElement(JsonObjectSchema.builder()
                            .addStringProperty("name")
                            .addIntegerProperty("age")
                            .required("name", "age")
                            .build())
                    .build();
            ChatResponse answer = model().strictJsonSchema(true).build().chat(ChatRequest.builder()
                    .messages(UserMessage.from("Give me a JSON object with name Anna and age 31."))
                    .responseFormat(ResponseFormat.builder().type(ResponseFormatType.JSON).jsonSchema(schema).build())
                    .build());
            ok(answer.aiMessage().text().contains("\"age\""), answer.aiMessage().text());
        });
        check.check("embeddings", () -> {
            OpenAiEmbeddingModel embedding = OpenAiEmbeddingModel.builder()
                    .baseUrl(Check.url() + "/v1")
                    .apiKey("none")
                    .modelName(MODEL)
                    .build();
            ok(embedding.embedAll(List.of(TextSegment.from("lake"), TextSegment.from("hill"))).content().size() == 2, "two vectors");
        });
        check.check("errors", () -> {
            try {
                model().topP(7.0).build().chat("Hi");
                ok(false, "refused");
            } catch (InvalidRequestException e) {
                ok(String.valueOf(e.getMessage()).contains("top_p"), e);
            }
        });
        check.exit();
    }
}
