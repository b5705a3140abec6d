// Entries (scanned code and units) of counting sheets that the server has not acknowledged. This
// device keeps an entry until the server has stored it or a person removes it. If another device hands
// the sheet in, the server takes no more entries of this sheet. Then the page of the sheet shows the
// entries that came too late.
import { counted, store, text } from "./frame.js";

const ENTRY = /^inventory-scan-([0-9]+)-/;
export const BATCH = 50; // the most entries of one request

/** Return the beginning of the names under which `localStorage` has the entries of a sheet. */
export function prefixOf(sheet) {
  return `inventory-scan-${sheet}-`;
}

/**
 * Store an entry under a name of its own, so that two windows never overwrite each other's entries.
 * Return false if the storage is full. Then only the page has the entry, until it is sent.
 */
export function keep(prefix, entry) {
  return store(prefix + entry.id, JSON.stringify(entry));
}

export function forget(prefix, ids) {
  for (const id of ids) localStorage.removeItem(prefix + id);
}

/** Return the stored entries of earlier pages and of other windows, in the order of their scans. */
export function keptEntries(prefix) {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(prefix))
    .map((name) => entryOf(localStorage.getItem(name)))
    .filter((entry) => typeof entry?.id === "string" && Number.isFinite(entry.at) && Number.isInteger(entry.units))
    .sort((one, other) => one.at - other.at);
}

function entryOf(kept) {
  try {
    return JSON.parse(kept);
  } catch {
    return null; // another program wrote this entry
  }
}

/**
 * Send entries to the sheet of a form, and return a promise of the response. The promise fails
 * without a network. `ageOf` returns the milliseconds since the scan of an entry.
 */
export function sendEntries(form, batch, ageOf = ({ at }) => Math.max(0, Date.now() - at)) {
  const entries = batch.map((entry) => ({ id: entry.id, sku: entry.sku, units: entry.units, age_ms: ageOf(entry) }));
  return fetch(form.action, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: JSON.stringify({ entries }),
  });
}

/** On a sheet that was handed in: show the entries of this device that are part of no count. */
export async function startLateEntries() {
  const form = document.querySelector("form[data-late]");
  const prefix = prefixOf(form.dataset.late);
  if (!(await forgetStored(form, prefix))) return; // the next visit of the page asks again
  const late = keptEntries(prefix);
  if (!late.length) return;
  showList(form, late.map(({ sku, units }) => lineOf(`${sku} × ${units}`)));
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    forget(prefix, late.map((entry) => entry.id));
    form.remove();
  });
}

/**
 * Delete the entries of this device that the server has stored, but whose acknowledgement was lost.
 * Return false if the server doesn't answer: then nobody knows which entries are part of a count.
 */
async function forgetStored(form, prefix) {
  const entries = keptEntries(prefix);
  for (let from = 0; from < entries.length; from += BATCH) {
    try {
      const answer = await sendEntries(form, entries.slice(from, from + BATCH));
      forget(prefix, storedOf(await answer.json()));
    } catch {
      return false;
    }
  }
  return true;
}

/** Return the ids of the entries that the server had stored before the sheet was handed in. */
export function storedOf(answer) {
  return (answer.had ?? []).map(String);
}

/** On the page of all sheets: name each sheet with entries that only this device has. */
export function startKeptSheets() {
  const notice = document.querySelector("[data-kept-sheets]");
  const sheets = new Set(Object.keys(localStorage).map((name) => ENTRY.exec(name)?.[1]).filter(Boolean));
  const numbers = [...sheets].map((sheet) => [sheet, keptEntries(prefixOf(sheet)).length]).filter(([, number]) => number);
  if (!numbers.length) return;
  const lines = numbers.map(([sheet, number]) => {
    const line = document.createElement("li");
    const link = line.appendChild(document.createElement("a"));
    link.href = notice.dataset.keptSheets.replace("/0/", `/${sheet}/`);
    link.textContent = text("Sheet {sheet}", { sheet });
    line.append(`: ${counted("{number} entry", "{number} entries", number)}`);
    return line;
  });
  showList(notice, lines);
  notice.hidden = false;
}

/** Put a list below the first paragraph of a notice. */
function showList(notice, lines) {
  const list = document.createElement("ul");
  list.append(...lines);
  notice.querySelector("p").after(list);
}

function lineOf(sentence) {
  const line = document.createElement("li");
  line.textContent = sentence;
  return line;
}
