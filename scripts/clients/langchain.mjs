// npm @langchain/openai: invoke, stream, tools, structured output, embeddings, errors.
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { base, check, done, idle, key, model, ok, place, weather } from "./check.mjs";

const configuration = { baseURL: `${base}/v1` };
const options = { model, apiKey: key, configuration, temperature: 0, maxRetries: 0 };
const chat = (more) => new ChatOpenAI({ ...options, ...more });

await check("invoke", async () => {
  const answer = await chat({ maxTokens: 24 }).invoke("What is a lake?");
  ok(answer instanceof AIMessage && answer.usage_metadata.output_tokens > 0, JSON.stringify(answer.usage_metadata));
});

await check("stream", async () => {
  let chunks = 0;
  for await (const chunk of await chat({ maxTokens: 24 }).stream("What is a lake?")) chunks += chunk ? 1 : 0;
  ok(chunks > 1, `${chunks} chunks`);
});

await check("tools round trip", async () => {
  const bound = chat({ maxTokens: 200 }).bindTools([{ type: "function", function: weather }], { tool_choice: "required" });
  const question = new HumanMessage("How is the weather in Oslo?");
  const first = await bound.invoke([question]);
  const call = first.tool_calls[0];
  ok(call.name === weather.name && typeof call.args.city === "string", JSON.stringify(first.tool_calls));
  const second = await chat({ maxTokens: 16 }).invoke([question, first, new ToolMessage({ content: "rain", tool_call_id: call.id })]);
  ok(second instanceof AIMessage, "an answer after the result");
});

await check("structured output", async () => {
  const answer = await chat({ maxTokens: 200 }).withStructuredOutput(place, { name: "place", method: "jsonSchema" }).invoke("A city and its temperature");
  ok(typeof answer.city === "string", JSON.stringify(answer));
});

await check("embeddings", async () => {
  const vectors = await new OpenAIEmbeddings({ model, apiKey: key, configuration, maxRetries: 0 }).embedDocuments(["lake", "hill"]);
  ok(vectors.length === 2, "two vectors");
});

await check("errors", async () => {
  try {
    await chat({ topP: 7 }).invoke("x");
    ok(false, "refused");
  } catch (error) {
    ok(error.status === 400, `${error}`);
  }
});

await check("cancel", async () => {
  const controller = new AbortController();
  try {
    for await (const chunk of await chat({}).stream("endless", { signal: controller.signal })) {
      if (chunk) controller.abort();
    }
  } catch (error) {
    ok(/abort/i.test(`${error.name} ${error.message}`), `${error}`);
  }
  await idle();
});

done();
