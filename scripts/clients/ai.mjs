// npm ai with @ai-sdk/openai-compatible: text, streams, tools, objects, embeddings, errors, cancelling.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { base, check, done, idle, key, model, ok, place, weather } from "./check.mjs";

const provider = createOpenAICompatible({ name: "strata", baseURL: `${base}/v1`, apiKey: key, includeUsage: true, supportsStructuredOutputs: true });
const chat = provider.chatModel(model);
const common = { model: chat, temperature: 0, maxRetries: 0 };

await check("text", async () => {
  const answer = await generateText({ ...common, prompt: "What is a lake?", maxOutputTokens: 24 });
  ok(["stop", "length"].includes(answer.finishReason), answer.finishReason);
  ok(answer.usage.outputTokens > 0, "usage");
});

await check("stream", async () => {
  const answer = streamText({ ...common, prompt: "What is a lake?", maxOutputTokens: 24 });
  let text = "";
  for await (const part of answer.fullStream) {
    if (part.type === "text-delta" || part.type === "reasoning-delta") text += part.text;
    if (part.type === "error") throw part.error;
  }
  ok(text.length > 0, "text");
  ok((await answer.usage).inputTokens > 0, "usage of a stream");
});

await check("tools", async () => {
  let asked = null;
  const answer = await generateText({
    ...common, prompt: "How is the weather in Oslo?", maxOutputTokens: 200, toolChoice: "required", stopWhen: stepCountIs(1),
    tools: { [weather.name]: tool({ description: weather.description, inputSchema: jsonSchema(weather.parameters), execute: async (input) => { asked = input; return "rain"; } }) },
  });
  ok(typeof asked?.city === "string", JSON.stringify(asked));
  ok(answer.finishReason === "tool-calls", answer.finishReason);
});

await check("object", async () => {
  const answer = await generateText({ ...common, prompt: "A city and its temperature as JSON", maxOutputTokens: 200, output: Output.object({ schema: jsonSchema(place) }) });
  ok(typeof answer.output.city === "string", JSON.stringify(answer.output));
});

await check("embeddings", async () => {
  const { embeddings } = await embedMany({ model: provider.embeddingModel(model), values: ["lake", "hill"], maxRetries: 0 });
  ok(embeddings.length === 2 && embeddings[0].length > 1, "two vectors");
});

await check("errors", async () => {
  try {
    await generateText({ ...common, prompt: "x", topP: 7 });
    ok(false, "refused");
  } catch (error) {
    ok(error.statusCode === 400 && /top_p/.test(error.message), `${error}`);
  }
});

await check("cancel", async () => {
  const controller = new AbortController();
  const answer = streamText({ ...common, prompt: "endless", abortSignal: controller.signal });
  for await (const part of answer.fullStream) {
    if (part.type === "text-delta" || part.type === "reasoning-delta") controller.abort();
  }
  await idle();
});

done();
