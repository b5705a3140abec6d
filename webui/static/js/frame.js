// The frame of a page: messages, dialogs, details of a row, and filters that fold on a phone. It also
// sends forms only once, and marks pages that a device shows without a network. Without this script,
// messages, dialogs, details and filters are visible all the time.

const LOOK_MS = 5_000;
const NEW_MS = 8_000;
const NAMES = "inventory-names"; // the people of a shared device, newest first; absent on a device of one person
const MOST_NAMES = 6;
const AGAIN_MS = 10_000;

// Texts of scripts in the language of the page, by message id. A page in English shows the ids themselves.
const TEXTS = new Map(Object.entries(JSON.parse(document.getElementById("texts")?.textContent ?? "{}")));

/** Return a text in the language of the page, with `values` for its placeholders like {age}. */
export function text(id, values = {}) {
  return filled(TEXTS.get(id) ?? id, values);
}

/** Return the singular or plural text for `number`, which replaces the placeholder {number}. */
export function counted(one, many, number, values = {}) {
  const [singular, plural] = TEXTS.get(one) ?? [one, many];
  return filled(number === 1 ? singular : plural, { ...values, number: number.toLocaleString("en") });
}

function filled(sentence, values) {
  const given = new Map(Object.entries(values));
  return sentence.replace(/\{(\w+)\}/g, (_place, name) => String(given.get(name) ?? ""));
}

export function startFrame() {
  startToasts();
  startDialogs();
  startFilters();
  startOnce();
  startWheel();
  startInstalled();
  startPerson();
}

/** Store a value on this device. Return false if the storage is full; the page then works without the value. */
export function store(key, value) {
  try {
    localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** Return the names of the people of a shared device, or null on a device of one person. */
export function names() {
  const kept = localStorage.getItem(NAMES);
  return kept === null ? null : kept.split("\n").filter(Boolean);
}

/** Store these names, newest first. With null, delete them, because the device belongs to one person again. */
export function keepNames(people) {
  if (people === null) localStorage.removeItem(NAMES);
  else store(NAMES, people.slice(0, MOST_NAMES).join("\n"));
}

/** On a shared device, add the person to its names and show the button that changes the person. */
function startPerson() {
  const change = document.querySelector("[data-change]");
  const known = names();
  if (!change || known === null) return;
  const person = change.dataset.change;
  keepNames([person, ...known.filter((name) => name !== person)]);
  change.hidden = false;
}

/** Add a close button to each message. After 8 s the messages scroll with the page, unless one of them is an error. */
function startToasts() {
  const box = document.querySelector(".toasts");
  for (const message of document.querySelectorAll(".toasts > *, [data-closes]")) addClose(message);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") box?.lastElementChild?.remove();
  });
  // The box keeps its space in the page afterwards, so that nothing moves under the pointer.
  if (box && !box.querySelector(".error")) setTimeout(() => box.removeAttribute("data-new"), NEW_MS);
}

function addClose(box) {
  const button = closingButton("✕", () => box.remove());
  button.classList.add("quiet", "icon-only");
  button.setAttribute("aria-label", text("Close this message"));
  box.append(button);
}

function closingButton(label, close) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.addEventListener("click", close);
  return button;
}

/** Open dialogs and details: `data-dialog="id"` opens a dialog, `data-expand="id"` the detail of a row. */
function startDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog], [data-expand]");
    if (opener?.dataset.dialog) document.getElementById(opener.dataset.dialog)?.showModal();
    else if (opener) expand(event, opener);
    else if (event.target.matches("dialog.dialog") && isOutside(event)) event.target.close();
  });
}

/** Return true for a click outside of the dialog. Its target is the dialog, too, so compare positions. */
function isOutside({ target, clientX, clientY }) {
  const { left, right, top, bottom } = target.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

function expand(event, opener) {
  const detail = document.getElementById(opener.dataset.expand);
  if (!detail) return; // its link opens the page with this detail
  event.preventDefault();
  detail.hidden = !detail.hidden;
  opener.setAttribute("aria-expanded", String(!detail.hidden));
}

function startFilters() {
  for (const form of document.querySelectorAll("form.filters, form.search-row:not(.seek)")) {
    const folds = [...form.querySelectorAll("label:not(.grow) select, label:not(.grow) input")];
    if (folds.length < 2) continue;
    const set = folds.filter((field) => field.value && field.type !== "hidden").length;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "filters-button";
    button.textContent = set ? text("Filters ({number})", { number: set }) : text("Filters");
    const fold = (isFolded) => {
      form.dataset.folded = String(isFolded);
      button.setAttribute("aria-expanded", String(!isFolded));
    };
    button.addEventListener("click", () => fold(form.dataset.folded !== "true"));
    fold(true);
    const search = form.querySelector(".grow");
    if (search) search.after(button);
    else form.prepend(button);
  }
}

/**
 * Suppress a second click on a command for 10 s. Correctness does not depend on this, because the
 * ledger recognises the command's id. A time ends the suppression, because there is no event for it:
 * a browser doesn't report that a person stopped a request, or that a download has ended.
 */
function startOnce() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-once]");
    if (!form) return;
    if (form.getAttribute("aria-busy") === "true") {
      event.preventDefault();
      return;
    }
    form.setAttribute("aria-busy", "true");
    setTimeout(() => form.removeAttribute("aria-busy"), AGAIN_MS);
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[aria-busy]")) form.removeAttribute("aria-busy");
  });
}

/** Let the mouse wheel scroll the page. Over a focused number field, it would change the number instead. */
function startWheel() {
  const leave = ({ target }) => target.type === "number" && target === document.activeElement && target.blur();
  document.addEventListener("wheel", leave, { passive: true });
}

function startInstalled() {
  const { keptAt, lastList } = document.body.dataset;
  if (keptAt) showKept(Number(keptAt));
  if (lastList) showLastList(lastList);
  if (keptAt || document.querySelector("[data-offer]")) watchForNetwork();
  // Only a person who is logged in has a list to keep.
  if (!("serviceWorker" in navigator) || !document.getElementById("pill")) return;
  addEventListener("load", () => {
    navigator.serviceWorker.register("/service-worker.js").catch(() => {
      // Without a service worker the pages work, but not offline.
    });
  });
}

/** Reload this page when the server answers again. */
function watchForNetwork() {
  const look = async () => {
    try {
      const answer = await fetch("/readyz", { cache: "no-store" });
      if (answer.ok) location.reload();
    } catch {
      // Still no network: the next request follows after LOOK_MS.
    }
  };
  addEventListener("online", look);
  setInterval(look, LOOK_MS);
}

/** Mark this page as the device's copy of a list, with its age, and disable its forms. */
function showKept(keptAtMs) {
  const minutes = Math.max(0, Math.round((Date.now() - keptAtMs) / 60_000));
  const age = minutes < 1 ? text("less than a minute") : minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  for (const form of document.querySelectorAll("main form")) form.inert = true;
  const banner = document.createElement("div");
  banner.className = "notice warning offline";
  banner.setAttribute("role", "status");
  const sentence = document.createElement("span");
  sentence.textContent = text("No connection. This is your last list, from {age} ago. The figures may have changed since.", { age });
  const again = closingButton(text("Try again"), () => location.reload());
  banner.append(sentence, again);
  document.getElementById("main").prepend(banner);
}

function showLastList(address) {
  const line = document.querySelector("[data-offer]");
  if (!line) return;
  const link = document.createElement("a");
  link.className = "button";
  link.href = address;
  link.textContent = text("Show the last stock list");
  line.append(link);
}
