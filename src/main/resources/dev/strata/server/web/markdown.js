// Markdown to DOM nodes, without innerHTML: what the model writes can never become markup of its own.
import { highlight } from "./highlight.js";

const INLINE = /(`+)([\s\S]+?)\1|\*\*([^\s*](?:[\s\S]*?[^\s])?)\*\*|\*([^\s*](?:[^*]*?[^\s*])?)\*|(?<![\w_])_([^\s_](?:[^_]*?[^\s_])?)_(?![\w_])|~~([^~]+)~~|\[([^\]]+)\]\(([^\s)]+)\)|(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])/g;

/** Splits text into blocks; each has its source, so that a caller can tell which ones changed. */
export function blocks(text) {
  const lines = text.split("\n");
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line.trim() === "") { at++; continue; }
    const start = at;
    const fence = /^\s{0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line);
    let kind;
    if (fence) {
      kind = "code";
      at++;
      while (at < lines.length && !lines[at].trim().startsWith(fence[1])) at++;
      at = Math.min(at + 1, lines.length);
    } else if (/^#{1,6}\s/.test(line)) {
      kind = "heading"; at++;
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      kind = "rule"; at++;
    } else if (/^\s*>/.test(line)) {
      kind = "quote";
      while (at < lines.length && /^\s*>/.test(lines[at])) at++;
    } else if (item(line)) {
      kind = "list";
      at++;
      while (at < lines.length && (item(lines[at]) || /^\s{2,}\S/.test(lines[at]) || (lines[at].trim() === "" && at + 1 < lines.length && (item(lines[at + 1]) || /^\s{2,}\S/.test(lines[at + 1]))))) at++;
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      kind = "table";
      at += 2;
      while (at < lines.length && lines[at].includes("|")) at++;
    } else {
      kind = "paragraph";
      at++;
      while (at < lines.length && lines[at].trim() !== "" && !/^(\s{0,3}(`{3,}|~{3,})|#{1,6}\s|\s*>)/.test(lines[at]) && !item(lines[at])) at++;
    }
    found.push({ kind, source: lines.slice(start, at).join("\n") });
  }
  return found;
}

function item(line) {
  return /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line);
}

export function render(block) {
  const lines = block.source.split("\n");
  switch (block.kind) {
    case "code": return code(lines);
    case "heading": return heading(lines[0]);
    case "rule": return document.createElement("hr");
    case "quote": return filled("blockquote", blocks(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n")).map(render));
    case "list": return list(lines);
    case "table": return table(lines);
    default: return filled("p", inline(block.source));
  }
}

function filled(name, children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}

function heading(line) {
  const [, marks, text] = /^(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line) ?? [null, "#", line];
  return filled(`h${marks.length}`, inline(text));
}

function code(lines) {
  const [, mark, language] = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(lines[0]);
  const closed = lines.length > 1 && lines.at(-1).trim().startsWith(mark);
  const source = lines.slice(1, closed ? -1 : undefined).join("\n");
  const box = filled("div", []);
  box.className = "code";
  const head = filled("div", [filled("span", [language || "text"])]);
  head.className = "head";
  const copy = filled("button", ["Copy"]);
  copy.type = "button";
  copy.setAttribute("aria-label", `Copy the ${language || "text"} block`);
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(source);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  head.append(copy);
  const pre = filled("pre", [filled("code", highlight(source, language))]);
  pre.tabIndex = 0;
  box.append(head, pre);
  return box;
}

function list(lines) {
  const first = item(lines[0]);
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  const node = document.createElement(ordered ? "ol" : "ul");
  if (ordered) node.start = parseInt(first[2], 10);
  let entry = null;
  const flush = () => {
    if (!entry) return;
    const parts = blocks(entry.join("\n"));
    const single = parts.length > 0 && parts[0].kind === "paragraph";
    node.append(filled("li", single ? [...inline(parts[0].source), ...parts.slice(1).map(render)] : parts.map(render)));
  };
  for (const line of lines) {
    const match = item(line);
    if (match && match[1].length <= indent + 1) {
      flush();
      entry = [match[3]];
    } else {
      entry?.push(line.replace(new RegExp(`^\\s{0,${indent + first[2].length + 1}}`), ""));
    }
  }
  flush();
  return node;
}

function table(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const right = cells(lines[1]).map((cell) => /^-+:$/.test(cell));
  const row = (line, name) => filled("tr", cells(line).map((cell, column) => {
    const node = filled(name, inline(cell));
    if (right[column]) node.style.textAlign = "right";
    return node;
  }));
  const node = filled("table", [filled("thead", [row(lines[0], "th")]), filled("tbody", lines.slice(2).map((line) => row(line, "td")))]);
  const scroll = filled("div", [node]);
  scroll.className = "scroll";
  return scroll;
}

function inline(text) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > last) nodes.push(...breaks(text.slice(last, match.index)));
    last = match.index + match[0].length;
    const [whole, , codeText, bold, italic, under, struck, label, target, bare] = match;
    if (codeText !== undefined) nodes.push(filled("code", [codeText]));
    else if (bold !== undefined) nodes.push(filled("strong", inline(bold)));
    else if (italic !== undefined) nodes.push(filled("em", inline(italic)));
    else if (under !== undefined) nodes.push(filled("em", inline(under)));
    else if (struck !== undefined) nodes.push(filled("del", inline(struck)));
    else nodes.push(link(label ?? bare, target ?? bare, whole));
  }
  if (last < text.length) nodes.push(...breaks(text.slice(last)));
  return nodes;
}

function breaks(text) {
  return text.split(/(?: {2,}|\\)\n/).flatMap((part, index) => (index > 0 ? [document.createElement("br"), part] : [part]));
}

function link(label, target, whole) {
  if (!/^(https?:|mailto:)/i.test(target)) return whole;
  const node = filled("a", label === target ? [label] : inline(label));
  node.href = target;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
}
