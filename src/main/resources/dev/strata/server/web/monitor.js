// The monitor view: a sample of /v1/status every second while it is shown.
import { getJson } from "./api.js";
import { Chart } from "./chart.js";

const SAMPLES = 300;
const element = (id) => document.getElementById(id);
const number = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2))));
const percent = (value) => `${Math.round(100 * value)} %`;
const bytes = (value) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
  return `${number(value)} ${units[at]}`;
};

const charts = {};
let last = null;

function chart(key, title, series, format, where = "charts") {
  if (!charts[key]) {
    charts[key] = new Chart(title, series, format, SAMPLES);
    element(where).append(charts[key].node);
  }
  return charts[key];
}

export async function sample() {
  const status = await getJson("v1/status");
  const now = performance.now() / 1000;
  if (document.getElementById("monitor").hidden && last && now - last.now < 1) return status;
  show(status, now);
  return status;
}

function show(status, now) {
  const engine = status.engine ?? {};
  const counters = engine.counters ?? {};
  const before = last?.counters ?? counters;
  const seconds = last ? Math.max(0.001, now - last.now) : 1;
  const rate = (key) => Math.max(0, (counters[key] ?? 0) - (before[key] ?? 0)) / seconds;
  const generated = rate("tokens_generated");
  const read = rate("prompt_tokens_read");
  cards([
    ["Output", number(generated), "tok/s"],
    ["Prompts", number(read), "tok/s"],
    ["Running", status.queue?.running ?? 0, ""],
    ["Waiting", status.queue?.waiting ?? 0, ""],
    ["Answers", (counters.requests_finished ?? 0).toLocaleString("en"), ""],
    ["Prompt reused", percent(ratio(counters.prompt_tokens_reused, counters.prompt_tokens_read)), ""],
    ["Drafts accepted", counters.drafts_offered ? percent(counters.drafts_accepted / counters.drafts_offered) : "–", ""],
    ["Up", duration(status.uptime_s ?? 0), ""],
  ]);
  chart("speed", "Tokens per second, generated", ["generated"], number).add([generated]);
  chart("prompt", "Tokens per second, prompts", ["read", "reused"], number).add([read, rate("prompt_tokens_reused")]);
  chart("queue", "Requests", ["running", "waiting", "connections"], number).add([status.queue?.running ?? 0, status.queue?.waiting ?? 0, status.server?.connections ?? 0]);
  tiers(engine, seconds);
  memory(engine);
  element("facts").replaceChildren(...facts({ ...status, engine: undefined }), ...facts(engine, "Engine"));
  last = { now, counters, tiers: flatTiers(engine) };
}

function ratio(part = 0, rest = 0) { return part + rest > 0 ? part / (part + rest) : 0; }

/** The expert tiers, where the engine tells of them: {tiers: {NAME: {lookups, bytes}}}. */
function flatTiers(engine) {
  return Object.fromEntries(Object.entries(engine.tiers ?? {}).filter(([, value]) => value && typeof value === "object"));
}

function tiers(engine, seconds) {
  const now = flatTiers(engine);
  const names = Object.keys(now);
  if (names.length === 0) return;
  const gain = (name, key) => Math.max(0, (now[name][key] ?? 0) - (last?.tiers?.[name]?.[key] ?? now[name][key] ?? 0));
  const lookups = names.map((name) => gain(name, "lookups"));
  const all = lookups.reduce((sum, value) => sum + value, 0);
  chart("hits", "Expert lookups by tier", names, percent).add(lookups.map((value) => (all ? value / all : 0)));
  chart("link", "GB/s by tier", names, number).add(names.map((name) => gain(name, "bytes") / seconds / 1e9));
}

/** The memory plan as bars: {memory: {PLACE: {PART_bytes: n}}}. */
function memory(engine) {
  const places = Object.entries(engine.memory ?? {}).filter(([, value]) => value && typeof value === "object");
  element("memory").replaceChildren(...places.map(([place, parts]) => {
    const entries = Object.entries(parts).filter(([key, value]) => typeof value === "number" && value > 0 && key.endsWith("bytes") && !/^(total|free|available)/.test(key));
    const box = document.createElement("div");
    box.className = "chart";
    const head = document.createElement("h2");
    head.textContent = `Memory: ${label(place)}`;
    const bar = document.createElement("div");
    bar.className = "stack";
    const legend = document.createElement("div");
    legend.className = "legend";
    const total = Math.max(parts.total_bytes ?? 0, entries.reduce((sum, [, value]) => sum + value, 0));
    entries.forEach(([key, value], index) => {
      const part = document.createElement("span");
      part.style.width = `${(100 * value) / total}%`;
      part.style.background = `hsl(${(232 + index * 53) % 360} 60% 58%)`;
      const mark = document.createElement("i");
      mark.style.background = part.style.background;
      const entry = document.createElement("span");
      const size = document.createElement("b");
      size.textContent = ` ${bytes(value)}`;
      entry.append(mark, label(key.replace(/_?bytes$/, "")), size);
      bar.append(part);
      legend.append(entry);
    });
    box.append(head, bar, legend);
    return entries.length ? box : "";
  }));
}

function cards(entries) {
  const node = element("cards");
  entries.forEach(([name, value, unit], index) => {
    let card = node.children[index];
    if (!card) {
      card = document.createElement("div");
      card.className = "card";
      card.innerHTML = "<div class=name></div><div class=value></div>";
      node.append(card);
    }
    card.firstChild.textContent = name;
    card.lastChild.textContent = value;
    if (unit) {
      const small = document.createElement("span");
      small.className = "unit";
      small.textContent = unit;
      card.lastChild.append(small);
    }
  });
}

function facts(object, title) {
  const nodes = [];
  const rows = document.createElement("dl");
  if (title) {
    const head = document.createElement("h3");
    head.textContent = title;
    nodes.push(head);
  }
  nodes.push(rows);
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined || value === null || value === "") continue;
    if (typeof value === "object" && !Array.isArray(value)) {
      nodes.push(...facts(value, title ? `${title}, ${label(key)}` : label(key)));
      continue;
    }
    const name = document.createElement("dt");
    name.textContent = label(key);
    const text = document.createElement("dd");
    text.textContent = typeof value === "number" ? (key.endsWith("bytes") ? bytes(value) : Number.isInteger(value) ? value.toLocaleString("en") : number(value)) : Array.isArray(value) ? value.map((one) => (typeof one === "object" ? JSON.stringify(one) : one)).join(", ") : String(value);
    rows.append(name, text);
  }
  return nodes;
}

function label(key) { return String(key).replaceAll("_", " "); }

function duration(seconds) {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours > 0 ? `${hours}h ${minutes}m` : minutes > 0 ? `${minutes}m ${Math.floor(seconds % 60)}s` : `${Math.floor(seconds)}s`;
}
