// Scanning without loss. Each scan enters a queue in this browser with an id generated here. The
// queue is sent in its order, and an entry leaves it when the server has acknowledged it. A reload,
// a slow server and a lost network only delay entries, and the server stores each id once.
import { counted, store, text } from "./frame.js";
import { BATCH, forget, keep, keptEntries, prefixOf, sendEntries, storedOf } from "./kept.js";
import { swap } from "./swap.js";

const ASK = "inventory-scan-ask"; // present on a device whose people type the units after each scan
const SHOWN = 12;
const LONGEST_MS = 72 * 3_600_000; // the server counts a greater age as 72 hours
const RETRY_MS = [500, 1_000, 2_000, 5_000];

export function startScan() {
  const form = document.querySelector("form[data-scan]");
  document.querySelector("[data-close-refused]").addEventListener("click", closeRefused);
  // Without scrolling, the bar at the bottom would cover the opened field for many items.
  document.querySelector("details.many").addEventListener("toggle", (event) => event.target.scrollIntoView({ block: "nearest" }));
  const queue = new Queue(form);
  startForm(form, queue);
  startEnd(queue);
  queue.send();
}

function startForm(form, queue) {
  const { sku, units } = form.elements;
  const ask = document.getElementById("scan-ask");
  const question = new Question(form, queue);
  const next = () => {
    units.value = ask.checked ? "" : "1";
    question.end();
    sku.focus();
  };
  ask.checked = localStorage.getItem(ASK) !== null;
  if (ask.checked) units.value = "";
  ask.addEventListener("change", () => {
    if (ask.checked) store(ASK, "yes");
    else localStorage.removeItem(ASK);
    next();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const code = sku.value.trim();
    if (!code) return;
    const typed = units.value.trim();
    if (!/^[0-9]{1,7}$/.test(typed)) {
      units.focus();
      units.select();
      question.put(code, typed);
      return;
    }
    queue.add(code, Number(typed));
    sku.value = "";
    next();
  });
  // The browser's validation would block an empty quantity before the rule above handles it. It would
  // also mark the empty field after each scan as wrong.
  form.noValidate = true;
  sku.required = false;
  units.required = false;
  // For a recount, the field already has the SKU. A scan replaces it, and the button Add counts it.
  if (sku.value) sku.select();
  document.addEventListener("keydown", (event) => {
    if (event.key !== "F2") return;
    event.preventDefault();
    sku.focus();
  });
}

/** The question for the units of a scan. For the code of a case, it asks for cases. */
class Question {
  constructor(form, queue) {
    this.form = form;
    this.queue = queue;
    this.label = form.querySelector("[data-units-label]");
    this.usual = this.label.textContent;
  }

  /**
   * Ask for the units of `code`. If the server answers that the code is that of a case, ask for the
   * number of cases instead. `typed` is the refused text of the units field, for example the next
   * code, if it was scanned into this field.
   */
  async put(code, typed) {
    this.end();
    const refused = refusedUnits(typed);
    this.queue.tell(`${refused}${text("{code}: how many?", { code })}`);
    const units = await unitsOf(this.form.dataset.ask, code);
    if (units < 2 || this.form.elements.sku.value.trim() !== code) return;
    this.label.textContent = text("Cases of {units}", { units });
    this.queue.tell(`${refused}${text("{code}: a case of {units}. How many cases?", { code, units })}`);
  }

  end() {
    this.label.textContent = this.usual;
  }
}

/** Return a sentence why the typed text is no number of units; an empty text if nothing was typed. */
function refusedUnits(typed) {
  if (!typed) return "";
  const reason = /^[0-9]{8,}$/.test(typed)
    ? text("{typed} is a code, not a number of units.", { typed })
    : text("{typed} is not a whole number of 0 or more.", { typed });
  return `${reason} `;
}

/** Return the units of one scan of a code: more than 1 for a case; 1 without an answer. */
async function unitsOf(address, code) {
  try {
    const answer = await fetch(`${address}?${new URLSearchParams({ q: code })}`, { credentials: "same-origin" });
    return (await answer.json()).units ?? 1;
  } catch {
    return 1; // no network: the row of the scan shows its units once the server has them
  }
}

/** Delay the submission of the sheet until every scan has been sent. */
function startEnd(queue) {
  const end = document.querySelector("form[data-scan-end]");
  if (!end) return;
  // Listen in the capture phase, so that `startOnce` of frame.js doesn't count this submission.
  document.addEventListener(
    "submit",
    (event) => {
      if (event.target !== end) return;
      queue.adopt();
      if (queue.isEmpty) return;
      event.preventDefault();
      event.stopPropagation();
      const left = counted("{number} entry is still on the way.", "{number} entries are still on the way.", queue.length);
      queue.tell(`${left} ${text("After that, the sheet is handed in.")}`);
      queue.whenEmpty = () => end.requestSubmit();
      queue.refusedMeanwhile = 0;
      queue.send();
    },
    true,
  );
}

const STATES = new Map([
  ["waiting", text("waiting")],
  ["saved", text("saved")],
  ["not saved", text("not saved")],
]);

class Queue {
  constructor(form) {
    this.form = form;
    this.prefix = prefixOf(form.dataset.scan);
    this.waiting = [];
    this.scannedAt = new Map(); // by entry id, on the clock of this page, which nobody can set
    this.unstored = new Set(); // ids of entries that only this page has: the storage is full
    this.isSending = false;
    this.saved = 0;
    this.whenEmpty = null;
    this.refusedMeanwhile = 0;
    this.adopt();
    addEventListener("beforeunload", (event) => {
      if (this.hasUnstored) event.preventDefault();
    });
  }

  /** Take over the stored entries of earlier pages, and of other windows with this sheet. */
  adopt() {
    const known = new Set(this.waiting.map((entry) => entry.id));
    for (const entry of keptEntries(this.prefix).filter(({ id }) => !known.has(id))) {
      this.waiting.push(entry);
      this.show(entry, "waiting");
    }
  }

  get hasUnstored() {
    return this.waiting.some((entry) => this.unstored.has(entry.id));
  }

  get length() {
    return this.waiting.length;
  }

  get isEmpty() {
    return this.waiting.length === 0;
  }

  add(sku, units) {
    const entry = { id: newId(), sku, units, at: Date.now() };
    this.waiting.push(entry);
    this.scannedAt.set(entry.id, performance.now());
    if (!keep(this.prefix, entry)) this.unstored.add(entry.id);
    this.show(entry, "waiting");
    this.send();
  }

  async send() {
    if (this.isSending) return;
    this.isSending = true;
    let failures = 0;
    while (!this.isEmpty) {
      const answer = await this.post(this.waiting.slice(0, BATCH));
      if (answer === "stop") break;
      if (answer === "again") {
        const kept = counted("The server doesn't answer. {number} entry is kept here and sent again.", "The server doesn't answer. {number} entries are kept here and sent again.", this.length);
        this.tell(this.whenEmpty ? `${kept} ${text("After that, the sheet is handed in.")}` : kept);
        await pause(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
      } else {
        failures = 0;
      }
    }
    this.isSending = false;
    if (this.isEmpty) await this.settle();
  }

  async settle() {
    if (this.saved && (await swap(location.href, "#tallies"))) {
      showSum();
      showNames();
    }
    // If entries were scanned while the tallies loaded, `send` sends them and then calls `settle` again.
    if (!this.isEmpty || !this.whenEmpty) return;
    const then = this.whenEmpty;
    this.whenEmpty = null;
    // Don't hand in the sheet after a refusal: the next page would not show the reason.
    if (!this.refusedMeanwhile) then();
    else this.tell(counted("{number} entry was not saved, so the sheet was not handed in. Look at the reason, then hand the sheet in.", "{number} entries were not saved, so the sheet was not handed in. Look at the reasons, then hand the sheet in.", this.refusedMeanwhile));
  }

  /**
   * Return the milliseconds since the scan, by the clock of the device, which also counts while the
   * device sleeps. If this age is impossible, because somebody has set the clock, use the monotonic
   * clock of this page.
   */
  ageOf({ id, at }) {
    const age = Date.now() - at;
    const known = performance.now() - this.scannedAt.get(id);
    return Math.round(Math.max(0, age < known || (age > LONGEST_MS && known >= 0) ? known : age));
  }

  /** Send one batch: return "saved", "again" for a transient failure, "stop" for a permanent one. */
  async post(batch) {
    let answer;
    try {
      answer = await sendEntries(this.form, batch, (entry) => this.ageOf(entry));
    } catch {
      return "again";
    }
    if (answer.redirected || answer.status === 401 || answer.status === 403) {
      this.tell(text("You are logged out. Log in again on this device: nothing scanned is lost."));
      return "stop";
    }
    if (answer.status >= 500 || answer.status === 429) return "again";
    const said = await answer.json().catch(() => null);
    if (said === null) return "again"; // a proxy has answered, or the connection ended
    if (answer.status === 409 && this.leave(storedOf(said))) return "stop";
    if (!answer.ok) {
      this.refuse(said.error);
      this.tell(counted("{number} entry was not sent.", "{number} entries were not sent.", this.length));
      return "stop";
    }
    this.done(batch, byId(said.refused), byId(said.stored ?? []));
    return "saved";
  }

  /**
   * Load the page again, because another device has handed the sheet in. The page then shows the
   * entries that came too late. If the storage is full and only this page has some entries, don't
   * load the page again, and return false.
   */
  leave(stored) {
    this.forget(stored);
    if (this.hasUnstored) return false;
    this.whenEmpty = null;
    location.reload();
    return true;
  }

  forget(ids) {
    const answered = new Set(ids);
    this.waiting = this.waiting.filter((entry) => !answered.has(entry.id));
    forget(this.prefix, answered);
  }

  done(batch, refused, stored) {
    this.forget(batch.map((entry) => entry.id));
    this.refusedMeanwhile += refused.size;
    for (const entry of batch) {
      const row = refused.get(entry.id);
      if (row) this.refuse(`${entry.sku}: ${row.why}`);
      else this.saved += 1;
      // The server has replaced the code of a package by its SKU, and cases by units.
      this.show({ ...entry, cases: entry.units, ...stored.get(entry.id) }, row ? "not saved" : "saved");
    }
    // Remove the refusal above the form: "the sheet is empty", for example, isn't true any more.
    if (this.saved) document.querySelector("[data-refusal]")?.remove();
    this.tell(this.isEmpty ? text("{saved} saved.", { saved: this.saved }) : text("{saved} saved, {number} on the way.", { saved: this.saved, number: this.length }));
  }

  show(entry, state) {
    const log = document.getElementById("scan-log");
    log.hidden = false;
    let line = log.querySelector(`[data-entry="${CSS.escape(entry.id)}"]`);
    if (!line) {
      line = document.createElement("li");
      line.dataset.entry = entry.id;
      line.append(document.createElement("span"), document.createElement("b"));
      log.prepend(line);
      while (log.children.length > SHOWN) log.lastChild.remove();
    }
    line.dataset.sku = entry.sku;
    line.firstChild.textContent = `${entry.sku} × ${entry.units}${ofCases(entry)}`;
    line.dataset.state = state;
    line.lastChild.textContent = STATES.get(state);
    line.scrollIntoView({ block: "nearest" });
  }

  refuse(sentence) {
    const box = document.getElementById("scan-refused");
    const line = document.createElement("li");
    line.textContent = sentence;
    const list = box.querySelector("ul") ?? box.appendChild(document.createElement("ul"));
    list.append(line);
    box.hidden = false;
  }

  tell(sentence) {
    document.getElementById("scan-state").textContent = sentence;
  }
}

/** Update the sum in the bar. Don't replace the bar, so that its button stays under the pointer. */
function showSum() {
  const line = document.querySelector("[data-sheet-sum]");
  if (line) line.textContent = document.getElementById("tallies").dataset.sum;
}

/** Return the cases and units of a case, like ` (2 × 6)`; an empty text for single units. */
function ofCases({ units, cases }) {
  return cases > 0 && units > cases ? ` (${cases} × ${units / cases})` : "";
}

/** Show the item's name before each of the last scans. The list of the sheet has the names. */
function showNames() {
  for (const line of document.querySelectorAll('#scan-log [data-state="saved"]:not([data-named])')) {
    const item = document.querySelector(`#tallies tr[data-sku="${CSS.escape(line.dataset.sku)}"] th`);
    if (!item) continue;
    line.dataset.named = "";
    line.firstChild.prepend(`${item.firstChild.textContent.trim()} `);
  }
}

function closeRefused() {
  const box = document.getElementById("scan-refused");
  box.querySelector("ul")?.remove();
  box.hidden = true;
  document.querySelector("form[data-scan]").elements.sku.focus();
}

function byId(rows) {
  return new Map(rows.map((row) => [row.id, row]));
}

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Without HTTPS, browsers have no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
