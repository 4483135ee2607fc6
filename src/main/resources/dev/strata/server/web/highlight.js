// A small colouring of code: comments, strings, numbers and the keywords that most languages share.

const KEYWORDS = new Set(("abstract and as assert async await boolean break case catch char class const continue def default del delete do double elif else enum " +
  "except export extends extern false final finally float fn for from func function global goto if implements import in instanceof int interface is lambda let " +
  "long match mod module mut namespace new nil none None not null or override package pass private protected pub public raise record return sealed self short " +
  "static struct super switch template this throw throws trait true True False try type typedef typeof union unsigned use using val var virtual void volatile " +
  "where while with yield select insert update create table join on group by order SELECT FROM WHERE INSERT UPDATE CREATE TABLE JOIN ON GROUP BY ORDER").split(" "));
const HASH = new Set(["python", "py", "sh", "bash", "zsh", "shell", "ruby", "rb", "yaml", "yml", "toml", "make", "makefile", "dockerfile", "perl", "r"]);
const PLAIN = new Set(["", "text", "txt", "markdown", "md", "diff", "output"]);

export function highlight(source, language) {
  const name = language.toLowerCase();
  if (PLAIN.has(name) || source.length > 60_000) return [source];
  const comment = HASH.has(name) ? "#[^\\n]*" : name === "sql" || name === "lua" ? "--[^\\n]*" : "\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/|<!--[\\s\\S]*?-->";
  const token = new RegExp(`(${comment})|("""[\\s\\S]*?"""|"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
  const nodes = [];
  let last = 0;
  for (const match of source.matchAll(token)) {
    const kind = match[1] ? "c" : match[2] ? "s" : match[3] ? "n" : KEYWORDS.has(match[4]) ? "k" : null;
    if (!kind) continue;
    if (match.index > last) nodes.push(source.slice(last, match.index));
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = match[0];
    nodes.push(span);
    last = match.index + match[0].length;
  }
  nodes.push(source.slice(last));
  return nodes;
}
