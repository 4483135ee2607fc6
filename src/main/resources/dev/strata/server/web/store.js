// Conversations and settings, kept in this browser.

const CONVERSATIONS = "strata.conversations";
const SETTINGS = "strata.settings";

function load(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export const settings = load(SETTINGS, {});
export function saveSettings() { localStorage.setItem(SETTINGS, JSON.stringify(settings)); }

let all = load(CONVERSATIONS, []);

export function conversations() { return all; }

export function create() {
  const conversation = { id: crypto.randomUUID?.() ?? String(Date.now() + Math.random()), title: "", changed: Date.now(), messages: [] };
  all.unshift(conversation);
  return conversation;
}

export function remove(id) {
  all = all.filter((conversation) => conversation.id !== id);
  save();
}

export function removeAll() {
  all = [];
  save();
}

/** Writes everything; when the browser's room is used up, the oldest conversations give way. */
export function save() {
  all.sort((a, b) => b.changed - a.changed);
  const kept = all.filter((conversation) => conversation.messages.length > 0);
  for (;;) {
    try {
      localStorage.setItem(CONVERSATIONS, JSON.stringify(kept));
      return;
    } catch (error) {
      if (kept.length <= 1) throw error;
      kept.pop();
    }
  }
}
