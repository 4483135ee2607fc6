// npm @anthropic-ai/sdk: messages, streams, tools, counting, errors, cancelling.
import Anthropic from "@anthropic-ai/sdk";
import { base, check, done, idle, key, model, ok, weather } from "./check.mjs";

const client = new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0, timeout: 120_000 });
const messages = [{ role: "user", content: "What is a lake?" }];
const tools = [{ name: weather.name, description: weather.description, input_schema: weather.parameters }];

await check("models", async () => {
  const names = [];
  for await (const one of client.models.list()) names.push(one.id);
  ok(names.includes(model), `${names}`);
});

await check("message", async () => {
  const answer = await client.messages.create({ model, max_tokens: 24, temperature: 0, system: [{ type: "text", text: "Be brief." }], messages });
  ok(answer.type === "message" && ["end_turn", "max_tokens"].includes(answer.stop_reason), answer.stop_reason);
  ok(answer.usage.output_tokens > 0, "usage");
});

await check("message stream", async () => {
  const stream = client.messages.stream({ model, max_tokens: 24, temperature: 0, messages });
  const types = new Set();
  stream.on("streamEvent", (event) => types.add(event.type));
  const whole = await stream.finalMessage();
  ok(["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"].every((type) => types.has(type)), [...types].join());
  ok(whole.content.length > 0, "content");
});

await check("beta messages", async () => {
  const answer = await client.beta.messages.create({ model, max_tokens: 8, temperature: 0, messages, betas: ["interleaved-thinking-2025-05-14"] });
  ok(answer.type === "message", "answered");
});

await check("tools round trip", async () => {
  const asked = [{ role: "user", content: "How is the weather in Oslo?" }];
  const stream = client.messages.stream({ model, max_tokens: 200, temperature: 0, messages: asked, tools, tool_choice: { type: "any" } });
  const first = await stream.finalMessage();
  ok(first.stop_reason === "tool_use", first.stop_reason);
  const call = first.content.find((block) => block.type === "tool_use");
  ok(call.name === weather.name && typeof call.input.city === "string", JSON.stringify(call));
  const second = await client.messages.create({
    model, max_tokens: 16, temperature: 0, tools,
    messages: [...asked, { role: "assistant", content: first.content }, { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: [{ type: "text", text: "rain" }] }] }],
  });
  ok(second.content.length > 0, "an answer after the result");
});

await check("count tokens", async () => {
  const counted = await client.messages.countTokens({ model, messages });
  ok(counted.input_tokens > 0, "tokens");
});

await check("errors", async () => {
  try {
    await client.messages.create({ model, max_tokens: "many", messages });
    ok(false, "refused");
  } catch (error) {
    ok(error instanceof Anthropic.BadRequestError && error.error.error.type === "invalid_request_error", `${error}`);
    ok(error.requestID, "request id");
  }
});

await check("cancel", async () => {
  const stream = client.messages.stream({ model, max_tokens: 100_000, messages: [{ role: "user", content: "endless" }] });
  stream.on("error", () => {});
  for await (const event of stream) {
    if (event.type === "content_block_delta") break;
  }
  stream.abort();
  await idle();
});

done();
