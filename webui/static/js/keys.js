// Keyboard shortcuts. ? shows all of them, / focuses the search, g and a letter open a desk. j and k
// focus the next and previous row, x ticks it, a orders the ticked rows, u undoes the order. In fields,
// these keys have no such effect. A switch disables them, because speech input and unsteady hands press
// single keys by accident (WCAG 2.1.4).

import { store } from "./frame.js";

const SWITCH = "inventory-single-keys";
// Keys that change something. A scan outside of a field, or a key that is held down, must have no
// effect. So such a key acts only if no other key comes within SCAN_MS: scanners type faster, people slower.
const ACTS = new Map([["x", tick], ["a", order], ["u", undo]]);
const SCAN_MS = 100;

export function startKeys() {
  const map = document.getElementById("keys-map");
  if (!map) return;
  const button = document.querySelector("[data-keys]");
  button.hidden = false;
  button.addEventListener("click", () => showKeys(map));
  let goUntil = 0;
  let typedAt = -Infinity;
  let acting;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
    if (!isOn() || (event.repeat && ACTS.has(event.key))) return;
    clearTimeout(acting);
    const isScanned = event.timeStamp - typedAt < SCAN_MS;
    if (event.key.length === 1 && !event.repeat) typedAt = event.timeStamp;
    const isGo = performance.now() < goUntil;
    goUntil = event.key === "g" ? performance.now() + 1_500 : 0;
    if (isGo) document.querySelector(`.desks [data-go="${CSS.escape(event.key)}"]`)?.click();
    else if (!ACTS.has(event.key)) run(event, map);
    else if (!isScanned) acting = setTimeout(ACTS.get(event.key), SCAN_MS);
  });
}

function run(event, map) {
  if (event.key === "?") showKeys(map);
  else if (event.key === "/") focusSearch(event);
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
}

function isOn() {
  return localStorage.getItem(SWITCH) !== "off";
}

function showKeys(map) {
  let dialog = document.getElementById("keys");
  if (!dialog) {
    dialog = map.content.firstElementChild.cloneNode(true);
    dialog.id = "keys";
    document.body.append(dialog);
    const box = dialog.querySelector("#keys-on");
    box.addEventListener("change", () => store(SWITCH, box.checked ? "on" : "off"));
  }
  dialog.querySelector("#keys-on").checked = isOn();
  dialog.showModal();
}

function focusSearch(event) {
  const field = document.querySelector("[data-slash]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
}

// Elements that j and k focus: rows, and the summaries of closed groups.
const STOPS = "tbody th a, article header a, [data-section]:not([open]) > summary";

/** Focus the next row or closed group, or the previous one; from elsewhere the first or the last. */
function step(by) {
  const stops = [...document.querySelectorAll(STOPS)].filter((stop) => stop.checkVisibility());
  if (!stops.length) return;
  const at = stops.indexOf(document.activeElement);
  const to = at < 0 && by < 0 ? stops.length - 1 : at + by;
  stops[Math.min(stops.length - 1, Math.max(0, to))].focus();
}

function tick() {
  boxHere()?.click();
}

function undo() {
  document.querySelector("[data-waiting] [value=undo]")?.click();
}

/** Return the checkbox of the focused row or group. */
function boxHere() {
  const here = document.activeElement;
  if (here?.matches("[data-section] > summary")) return here.closest("section").querySelector("[data-pick-section]");
  return here?.closest("tr, article")?.querySelector("input[type=checkbox]");
}

/** Press the bar's main button for the ticked rows. If none is ticked, tick the focused row or group first. */
function order() {
  const form = document.querySelector("form[data-picks]");
  if (!form) return;
  if (!document.querySelector("[name=pick]:checked")) tick();
  form.querySelector("button.primary").click();
}
