// The chat view: conversations, messages, the composer.
import { chat } from "./api.js";
import { blocks, render } from "./markdown.js";
import * as store from "./store.js";

const element = (id) => document.getElementById(id);
const list = element("messages");
const promptBox = element("prompt");
const send = element("send");
const ICONS = {
  copy: "M9 9h10v11H9zM5 15V4h10", again: "M4 12a8 8 0 1 1 2.5 5.8M4 19v-5h5", edit: "M4 20h4L19 9l-4-4L4 16v4Z", drop: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
};

let current = null;
let running = null;

export function start() {
  element("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.controller.abort();
    else submit();
  });
  promptBox.addEventListener("input", grow);
  promptBox.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!running) submit();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running && !element("settings").open) running.controller.abort();
    if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "o") { event.preventDefault(); open(null); }
  });
  element("new-chat").addEventListener("click", () => open(null));
  element("search").addEventListener("input", showConversations);
  element("clear-all").addEventListener("click", () => {
    if (confirm("Delete all conversations of this browser?")) { store.removeAll(); open(null); }
  });
  open(store.conversations()[0] ?? null);
  grow();
}

function open(conversation) {
  running?.controller.abort();
  current = conversation;
  showConversations();
  list.replaceChildren(...(current?.messages ?? []).map((message, index) => view(message, index)));
  element("welcome").hidden = !!current && current.messages.length > 0;
  list.scrollTop = list.scrollHeight;
  promptBox.focus({ preventScroll: true });
}

function showConversations() {
  const words = element("search").value.trim().toLowerCase();
  const shown = store.conversations().filter((one) => !words || JSON.stringify([one.title, one.messages.map((m) => m.content)]).toLowerCase().includes(words));
  element("conversations").replaceChildren(...shown.map((one) => {
    const entry = document.createElement("li");
    entry.className = one === current ? "current" : "";
    const title = document.createElement("button");
    title.className = "title";
    title.textContent = one.title || "New conversation";
    if (one === current) title.setAttribute("aria-current", "true");
    title.addEventListener("click", () => open(one));
    const drop = iconButton("drop", `Delete ${one.title}`, () => { store.remove(one.id); if (one === current) open(store.conversations()[0] ?? null); else showConversations(); });
    drop.className = "icon drop";
    entry.append(title, drop);
    return entry;
  }));
}

function grow() {
  promptBox.style.height = "auto";
  promptBox.style.height = `${promptBox.scrollHeight}px`;
  send.disabled = !running && promptBox.value.trim() === "";
}

function submit() {
  const text = promptBox.value.trim();
  if (!text) return;
  promptBox.value = "";
  grow();
  if (!current) current = store.create();
  current.title ||= text.replace(/\s+/g, " ").slice(0, 60);
  current.messages.push({ role: "user", content: text });
  answer();
}

/** Drops everything from this message on and answers anew. */
function restart(index, text) {
  if (running) return;
  current.messages.length = index;
  if (text !== undefined) current.messages.push({ role: "user", content: text });
  answer();
}

async function answer() {
  const conversation = current;
  const message = { role: "assistant", content: "", reasoning: "", calls: [], started: performance.now() };
  conversation.messages.push(message);
  conversation.changed = Date.now();
  store.save();
  open(conversation);
  const node = list.lastElementChild;
  const controller = new AbortController();
  running = { controller };
  send.classList.add("busy");
  send.setAttribute("aria-label", "Stop");
  send.disabled = false;
  list.setAttribute("aria-busy", "true");
  let drawn = 0;
  const draw = () => {
    if (!drawn) drawn = requestAnimationFrame(() => { drawn = 0; if (conversation === current) update(node, message, true); });
  };
  try {
    await chat(requestOf(conversation), (chunk) => { take(chunk, message); draw(); }, controller.signal);
  } catch (error) {
    if (error.name === "AbortError") message.finish ??= "stopped";
    else message.error = error.message;
  }
  cancelAnimationFrame(drawn);
  message.seconds = (performance.now() - message.started) / 1000;
  delete message.started;
  delete message.progress;
  running = null;
  send.classList.remove("busy");
  send.setAttribute("aria-label", "Send");
  list.removeAttribute("aria-busy");
  grow();
  store.save();
  showConversations();
  if (conversation === current) {
    update(node, message, false);
    element("announce").textContent = message.error ? `Failed: ${message.error}` : `Answer: ${message.content.slice(0, 400)}`;
  }
}

function requestOf(conversation) {
  const { system, effort, ...numbers } = store.settings;
  const messages = conversation.messages.slice(0, -1).filter((message) => !message.error).map((message) => ({
    role: message.role, content: message.content, ...(message.reasoning ? { reasoning_content: message.reasoning } : {}),
  }));
  if (system) messages.unshift({ role: "system", content: system });
  const request = { messages };
  if (effort) request.reasoning_effort = effort;
  for (const key of ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"]) {
    if (numbers[key] !== undefined && numbers[key] !== "") request[key] = Number(numbers[key]);
  }
  return request;
}

function take(chunk, message) {
  if (chunk.prompt_progress) message.progress = chunk.prompt_progress;
  if (chunk.usage) message.usage = chunk.usage;
  if (chunk.timings) message.timings = chunk.timings;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const delta = choice.delta ?? {};
  if (delta.reasoning_content) message.reasoning += delta.reasoning_content;
  if (delta.content) {
    if (message.reasoning && !message.thoughtFor) message.thoughtFor = (performance.now() - message.started) / 1000;
    message.content += delta.content;
  }
  for (const call of delta.tool_calls ?? []) {
    const known = (message.calls[call.index] ??= { name: "", arguments: "" });
    known.name += call.function?.name ?? "";
    known.arguments += call.function?.arguments ?? "";
  }
  if (choice.finish_reason) message.finish = choice.finish_reason;
}

function view(message, index) {
  const node = document.createElement("article");
  node.className = `message ${message.role}`;
  node.setAttribute("aria-label", message.role === "user" ? "You" : "Answer");
  if (message.role === "user") {
    const bubble = document.createElement("div");
    bubble.className = "bubble";
    bubble.textContent = message.content;
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      iconButton("edit", "Edit and send again", () => edit(node, message, index)),
      iconButton("copy", "Copy", () => navigator.clipboard?.writeText(message.content)));
    node.append(bubble, tools);
    return node;
  }
  node.index = index;
  update(node, message, message.started !== undefined);
  return node;
}

/** Brings an answer's node up to date; blocks that did not change keep their nodes, so selections and scrolling survive. */
function update(node, message, live) {
  const follow = list.scrollHeight - list.scrollTop - list.clientHeight < 90;
  if (!node.parts) {
    node.parts = { thoughts: null, text: document.createElement("div"), rest: document.createElement("div"), drawn: [] };
    node.parts.text.className = "text";
    node.append(node.parts.text, node.parts.rest);
  }
  const { parts } = node;
  if (message.reasoning) thoughts(node, message, live);
  const fresh = blocks(message.content);
  let same = 0;
  while (same < fresh.length && same < parts.drawn.length && fresh[same].source === parts.drawn[same].source && fresh[same].kind === parts.drawn[same].kind) same++;
  for (const old of parts.drawn.splice(same)) old.node.remove();
  for (const block of fresh.slice(same)) {
    const drawn = { ...block, node: render(block) };
    parts.text.append(drawn.node);
    parts.drawn.push(drawn);
  }
  parts.rest.replaceChildren(...message.calls.filter(Boolean).map(callView), ...after(node, message, live));
  if (follow) list.scrollTop = list.scrollHeight;
}

function thoughts(node, message, live) {
  const { parts } = node;
  if (!parts.thoughts) {
    const box = document.createElement("details");
    box.className = "thoughts";
    const summary = document.createElement("summary");
    const text = document.createElement("div");
    text.className = "text";
    box.append(summary, text);
    node.prepend(box);
    parts.thoughts = { summary, text };
  }
  const thinking = live && !message.content && message.calls.length === 0;
  parts.thoughts.summary.textContent = thinking ? "Thinking…" : message.thoughtFor ? `Thought for ${message.thoughtFor.toFixed(1)} s` : "Thoughts";
  parts.thoughts.text.replaceChildren(...blocks(message.reasoning).map(render));
}

function callView(call) {
  const box = document.createElement("div");
  box.className = "call";
  const name = document.createElement("b");
  name.textContent = call.name;
  const input = document.createElement("pre");
  input.textContent = call.arguments;
  box.append("Calls ", name, input);
  return box;
}

function after(node, message, live) {
  if (live) {
    const wait = document.createElement("p");
    wait.className = "waiting";
    const progress = message.progress;
    const begun = message.content || message.reasoning || message.calls.length > 0;
    if (!begun) wait.textContent = progress && progress.total > 0 ? `Reading the prompt, ${Math.round((100 * (progress.cache + progress.processed)) / progress.total)} %` : "Waiting";
    else if (message.content) return [];
    return [wait];
  }
  const nodes = [];
  if (message.error) {
    const box = document.createElement("div");
    box.className = "error";
    box.setAttribute("role", "alert");
    box.textContent = message.error;
    nodes.push(box);
  }
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(
    iconButton("copy", "Copy", () => navigator.clipboard?.writeText(message.content)),
    iconButton("again", "Answer again", () => restart(node.index)));
  const figures = document.createElement("span");
  figures.className = "figures";
  figures.textContent = figuresOf(message);
  tools.append(figures);
  nodes.push(tools);
  return nodes;
}

function figuresOf(message) {
  const words = [];
  const timings = message.timings;
  if (timings?.predicted_n) words.push(`${timings.predicted_n} tokens`, `${timings.predicted_per_second.toFixed(1)} tok/s`);
  if (timings) words.push(`prompt ${timings.prompt_n + timings.cache_n}${timings.cache_n ? ` (${timings.cache_n} cached)` : ""} in ${(timings.prompt_ms / 1000).toFixed(2)} s`);
  if (message.finish && message.finish !== "stop" && message.finish !== "tool_calls") words.push(message.finish === "length" ? "cut at the token limit" : message.finish);
  return words.join("  ·  ");
}

function edit(node, message, index) {
  if (running) return;
  const box = document.createElement("form");
  box.className = "edit";
  const text = document.createElement("textarea");
  text.setAttribute("aria-label", "Edit the message");
  text.value = message.content;
  const row = document.createElement("div");
  row.className = "row";
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.className = "quiet";
  cancel.textContent = "Cancel";
  cancel.addEventListener("click", () => open(current));
  const save = document.createElement("button");
  save.className = "primary";
  save.textContent = "Send";
  row.append(cancel, save);
  box.append(text, row);
  box.addEventListener("submit", (event) => { event.preventDefault(); if (text.value.trim()) restart(index, text.value.trim()); });
  node.replaceChildren(box);
  text.focus();
}

function iconButton(name, label, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  button.append(svg);
  button.addEventListener("click", action);
  return button;
}
