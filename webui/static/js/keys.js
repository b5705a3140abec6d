// Keyboard shortcuts: / search; g, then a key of the navigation; j k rows. Off inside fields; a
// switch disables them.

const SWITCH = "inventory-single-keys";

export function startKeys() {
  const box = document.getElementById("keys-on");
  if (!box) return;
  box.checked = localStorage.getItem(SWITCH) !== "off";
  box.addEventListener("change", () => localStorage.setItem(SWITCH, box.checked ? "on" : "off"));
  let goUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (!box.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const isGo = performance.now() < goUntil;
    goUntil = event.key === "g" ? performance.now() + 1_500 : 0;
    if (isGo) document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)?.click();
    else if (event.key === "/") focusSearch(event);
    else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  });
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
