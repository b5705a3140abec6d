// Keyboard shortcuts: ? shows them all, / searches, g and a key opens a desk, j and k move by rows,
// x ticks a row. Fields ignore them. A switch disables them, because speech input and
// unsteady hands press single keys by accident (WCAG 2.1.4).

const SWITCH = "inventory-single-keys";

export function startKeys() {
  const map = document.getElementById("keys-map");
  if (!map) return;
  const button = document.querySelector("[data-keys]");
  button.hidden = false;
  button.addEventListener("click", () => showKeys(map));
  let goUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
    if (!isOn()) return;
    const isGo = performance.now() < goUntil;
    goUntil = event.key === "g" ? performance.now() + 1_500 : 0;
    if (isGo) document.querySelector(`.desks [data-go="${CSS.escape(event.key)}"]`)?.click();
    else run(event, map);
  });
}

function run(event, map) {
  if (event.key === "?") showKeys(map);
  else if (event.key === "/") focusSearch(event);
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "x") tick();
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
    box.addEventListener("change", () => localStorage.setItem(SWITCH, box.checked ? "on" : "off"));
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

function step(by) {
  const links = [...document.querySelectorAll("tbody th a, article header a")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + by))].focus();
}

function tick() {
  document.activeElement?.closest("tr, article")?.querySelector("input[type=checkbox]")?.click();
}
