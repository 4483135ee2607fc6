// Puts the page together: views, colours, settings, the state in the bar.
import { useKey } from "./api.js";
import * as chat from "./chat.js";
import { sample } from "./monitor.js";
import { saveSettings, settings } from "./store.js";

const element = (id) => document.getElementById(id);
const THEMES = ["auto", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

function colours() {
  const theme = settings.theme ?? "auto";
  document.documentElement.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  element("theme").setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system" : theme}`);
  element("theme").title = element("theme").getAttribute("aria-label");
}

function views() {
  const tabs = [element("tab-chat"), element("tab-monitor")];
  const choose = (tab) => {
    for (const one of tabs) {
      const chosen = one === tab;
      one.setAttribute("aria-selected", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      element(one.getAttribute("aria-controls")).hidden = !chosen;
    }
    history.replaceState(null, "", tab === tabs[0] ? "#" : "#monitor");
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const other = tabs[1 - index];
      choose(other);
      other.focus();
    });
  });
  if (location.hash === "#monitor") choose(tabs[1]);
}

function settingsDialog() {
  const dialog = element("settings");
  const form = dialog.querySelector("form");
  element("open-settings").addEventListener("click", () => {
    for (const field of form.elements) if (field.name) field.value = settings[field.name] ?? "";
    dialog.showModal();
  });
  form.addEventListener("input", (event) => {
    if (event.target.name) settings[event.target.name] = event.target.value;
    saveSettings();
    useKey(settings.apiKey ?? "");
  });
}

async function follow() {
  const dot = element("state-dot");
  const text = element("state-text");
  try {
    const status = await sample();
    const name = status.model?.id ?? "";
    dot.className = `dot ${status.state ?? ""}`;
    text.textContent = status.state === "ready" ? name : `${name} ${status.state ?? "not responding"}`.trim();
    text.title = status.reason ?? "";
    element("welcome-model").textContent = status.model ? `${name}, ${status.model.n_ctx.toLocaleString("en")} tokens of context` : "";
  } catch (error) {
    dot.className = "dot dead";
    text.textContent = /key/i.test(error.message) ? "API key needed: see Settings" : "server not reachable";
  }
  setTimeout(follow, element("monitor").hidden ? 4000 : 1000);
}

useKey(settings.apiKey ?? "");
colours();
dark.addEventListener("change", colours);
element("theme").addEventListener("click", () => {
  settings.theme = THEMES[(THEMES.indexOf(settings.theme ?? "auto") + 1) % THEMES.length];
  saveSettings();
  colours();
});
element("toggle-side").addEventListener("click", () => {
  const closed = element("side").classList.toggle("closed");
  element("toggle-side").setAttribute("aria-expanded", String(!closed));
});
if (innerWidth <= 760) element("toggle-side").click();
views();
settingsDialog();
chat.start();
follow();
