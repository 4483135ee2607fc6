// npm openai: chat, streams, tools, schemas, responses, embeddings, errors, cancelling.
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { base, check, done, idle, key, model, ok, place, weather } from "./check.mjs";

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0, timeout: 120_000 });
const messages = [{ role: "user", content: "What is a lake?" }];
const tools = [{ type: "function", function: weather }];

await check("models", async () => {
  const names = [];
  for await (const one of client.models.list()) names.push(one.id);
  ok(names.includes(model), `${model} in ${names}`);
});

await check("chat", async () => {
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 24, temperature: 0 });
  ok(answer.choices[0].message.role === "assistant", "an assistant answers");
  ok(["stop", "length"].includes(answer.choices[0].finish_reason), answer.choices[0].finish_reason);
  ok(answer.usage.total_tokens === answer.usage.prompt_tokens + answer.usage.completion_tokens, "usage adds up");
});

await check("chat stream with usage", async () => {
  const stream = await client.chat.completions.create({ model, messages, max_tokens: 24, temperature: 0, stream: true, stream_options: { include_usage: true } });
  let usages = 0;
  let text = "";
  for await (const chunk of stream) {
    if (chunk.usage) { usages++; ok(chunk.choices.length === 0, "the usage chunk has no choices"); }
    const delta = chunk.choices[0]?.delta;
    text += (delta?.content ?? "") + (delta?.reasoning_content ?? "");
  }
  ok(usages === 1, "usage once");
  ok(text.length > 0, "text");
});

await check("chat stream helper", async () => {
  const runner = client.chat.completions.stream({ model, messages, max_tokens: 24, temperature: 0 });
  const whole = await runner.finalChatCompletion();
  ok(["stop", "length"].includes(whole.choices[0].finish_reason), "finish reason");
});

await check("tools round trip", async () => {
  const asked = [{ role: "user", content: "How is the weather in Oslo?" }];
  const first = await client.chat.completions.create({ model, messages: asked, tools, tool_choice: "required", max_tokens: 200, temperature: 0 });
  ok(first.choices[0].finish_reason === "tool_calls", first.choices[0].finish_reason);
  const call = first.choices[0].message.tool_calls[0];
  ok(call.function.name === weather.name && typeof JSON.parse(call.function.arguments).city === "string", "a call with a city");
  const second = await client.chat.completions.create({
    model, tools, tool_choice: "none", max_tokens: 16, temperature: 0,
    messages: [...asked, first.choices[0].message, { role: "tool", tool_call_id: call.id, content: "12 degrees, rain" }],
  });
  ok(second.choices[0].message.content !== null, "an answer after the result");
});

await check("tools streamed by the helper", async () => {
  const runner = client.chat.completions.stream({ model, messages: [{ role: "user", content: "Weather in Oslo?" }], tools, tool_choice: "required", max_tokens: 200, temperature: 0 });
  const whole = await runner.finalChatCompletion();
  ok(whole.choices[0].message.tool_calls[0].function.name === weather.name, "the call");
  ok(whole.choices[0].finish_reason === "tool_calls", "finish reason");
});

await check("schema parsed", async () => {
  const shape = z.object({ city: z.string().max(20), degrees: z.number().int().min(-90).max(60) });
  const answer = await client.chat.completions.parse({ model, messages: [{ role: "user", content: "A city and its temperature as JSON" }], response_format: zodResponseFormat(shape, "place"), max_tokens: 200, temperature: 0 });
  ok(typeof answer.choices[0].message.parsed.city === "string", "a city");
});

await check("logprobs", async () => {
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 4, logprobs: true, top_logprobs: 2, temperature: 0 });
  ok(Array.isArray(answer.choices[0].logprobs.content), "content");
});

await check("responses", async () => {
  const answer = await client.responses.create({ model, input: "What is a lake?", max_output_tokens: 24, temperature: 0 });
  ok(["completed", "incomplete"].includes(answer.status), answer.status);
  ok(typeof answer.output_text === "string", "text");
});

await check("responses stream", async () => {
  const types = new Set();
  const stream = client.responses.stream({ model, input: "What is a lake?", max_output_tokens: 24, temperature: 0 });
  for await (const event of stream) types.add(event.type);
  ok(types.has("response.created") && (types.has("response.completed") || types.has("response.incomplete")), [...types].join());
  await stream.finalResponse();
});

await check("responses schema and tools", async () => {
  const shape = z.object({ city: z.string().max(20) });
  const parsed = await client.responses.parse({ model, input: "A city as JSON", text: { format: zodTextFormat(shape, "place") }, max_output_tokens: 200, temperature: 0 });
  ok(typeof parsed.output_parsed.city === "string", "parsed");
  const called = await client.responses.create({ model, input: "Weather in Oslo?", tools: [{ type: "function", strict: false, ...weather }, { type: "web_search" }], tool_choice: "required", max_output_tokens: 200, temperature: 0 });
  const call = called.output.find((item) => item.type === "function_call");
  ok(call?.name === weather.name, JSON.stringify(called.output));
  const after = await client.responses.create({ model, max_output_tokens: 16, temperature: 0, input: [{ role: "user", content: "Weather in Oslo?" }, call, { type: "function_call_output", call_id: call.call_id, output: "rain" }] });
  ok(after.output.length > 0, "an answer after the result");
});

await check("completions", async () => {
  const answer = await client.completions.create({ model, prompt: ["A lake is", "A hill is"], max_tokens: 8, temperature: 0 });
  ok(answer.choices.length === 2, "two answers");
});

await check("embeddings", async () => {
  const one = await client.embeddings.create({ model, input: ["lake", "hill"] });
  ok(one.data.length === 2 && Math.abs(one.data[0].embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-3, "unit vectors");
  const float = await client.embeddings.create({ model, input: "lake", encoding_format: "float" });
  ok(float.data[0].embedding.every((x, i) => Math.abs(x - one.data[0].embedding[i]) < 1e-2), "float and base64 agree");
});

await check("errors", async () => {
  try {
    await client.chat.completions.create({ model, messages, temperature: "hot" });
    ok(false, "refused");
  } catch (error) {
    ok(error instanceof OpenAI.BadRequestError && error.param === "temperature", `${error}`);
  }
});

await check("cancel", async () => {
  const stream = await client.chat.completions.create({ model, messages: [{ role: "user", content: "endless" }], ignore_eos: true, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta) break;
  }
  stream.controller.abort();
  await idle();
});

done();
