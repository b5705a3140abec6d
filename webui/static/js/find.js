// Pages Find and Scan: the camera, the search field, and the products looked up on this device.
import { startCamera } from "./camera.js";
import { store } from "./frame.js";

const MOST_RECENT = 8;

export function startFind() {
  const form = document.querySelector("form.seek");
  const field = form.elements.q;
  startScanner(form, field);
  startStore(form, field);
  startRecent(form.dataset.person);
  startCamera(form, (code) => {
    field.value = code;
    form.requestSubmit();
  });
}

/** A scanner types a code and Enter. Select the code, so that the next one replaces it. */
function startScanner(form, field) {
  form.addEventListener("submit", () => field.select());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "F2") return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

/** Focus the search field after a choice with the mouse or a finger: the person types or scans next. */
function startStore(form, field) {
  let byKeys = false;
  form.addEventListener("keydown", () => (byKeys = true));
  form.addEventListener("pointerdown", () => (byKeys = false));
  form.addEventListener("change", (event) => {
    if (event.target.matches("select") && !byKeys) field.focus();
  });
}

function startRecent(person) {
  const key = `inventory-recent-${person}`;
  document.addEventListener("click", (event) => {
    const card = event.target.closest("article.found");
    if (card && event.target.closest("a, summary")) remember(key, card.dataset);
    if (event.target.closest("[data-forget]")) {
      localStorage.removeItem(key);
      show(key);
    }
  });
  // A search replaces the results. A single remaining product counts as looked up.
  new MutationObserver(() => {
    const cards = document.querySelectorAll("article.found");
    if (cards.length === 1) remember(key, cards[0].dataset);
    show(key);
  }).observe(document.getElementById("main"), { childList: true });
  const [card, other] = document.querySelectorAll("article.found");
  if (card && !other) remember(key, card.dataset);
  show(key);
}

function remembered(key) {
  try {
    const items = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(items) ? items.filter(({ sku }) => typeof sku === "string") : [];
  } catch {
    return []; // another program wrote this entry
  }
}

function remember(key, { sku, name }) {
  const others = remembered(key).filter((item) => item.sku !== sku);
  store(key, JSON.stringify([{ sku, name }, ...others].slice(0, MOST_RECENT)));
}

function show(key) {
  const section = document.querySelector("[data-recent]");
  if (!section) return;
  const items = remembered(key);
  section.hidden = items.length === 0;
  document.querySelector("[data-no-recent]").hidden = items.length > 0;
  section.querySelector("ul").replaceChildren(...items.map(entry));
}

function entry({ sku, name }) {
  const link = document.createElement("a");
  link.href = `?${new URLSearchParams({ q: sku })}`;
  link.append(elementOf("span", name), " ", elementOf("small", sku));
  const line = document.createElement("li");
  line.append(link);
  return line;
}

function elementOf(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
