// Live cells, and the pill with the age of the figures. The server sends the age each second. The page
// adds the time since then by its monotonic clock, because the clock of a device can be wrong.
import { text } from "./frame.js";

const LIVE_MS = 3_000;
const OFFLINE_MS = 60_000;
const SILENT_MS = 4_000; // an age arrives each second: a longer silence is a lost stream
const RETRY_MOST_MS = 5_000;
const MARKED_MS = 1_000;

const state = {
  source: null,
  url: "",
  ageMs: null,
  heardAt: -Infinity,
  checking: true,
  checkedAt: 0,
  lastAsOf: "",
  paused: false,
  held: new Map(),
  retryMs: 500,
  retry: 0,
};

const marked = new WeakMap(); // {cell: timer that ends its highlight}

export function startLive() {
  const pill = document.getElementById("pill");
  if (!pill) return { reconnect() {} };
  check();
  setInterval(showAge, 250);
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : check()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && check());
  startPause();
  return { reconnect: connect };
}

function wantedUrl() {
  return document.querySelector("main [data-live]")?.dataset.live ?? document.body.dataset.live;
}

/** Connect. Show no age before the next event, because some monotonic clocks stop while the device sleeps. */
function check() {
  state.checking = true;
  state.checkedAt = performance.now();
  connect();
}

function disconnect() {
  clearTimeout(state.retry);
  state.source?.close();
  state.source = null;
}

function connect() {
  disconnect();
  state.url = wantedUrl();
  if (!state.url || document.hidden) return;
  const source = new EventSource(state.url);
  state.source = source;
  source.addEventListener("age", (event) => heard(JSON.parse(event.data)));
  source.addEventListener("resync", (event) => take(JSON.parse(event.data)));
  source.addEventListener("patch", (event) => take(JSON.parse(event.data)));
  source.addEventListener("bye", () => location.reload());
  source.addEventListener("error", async () => {
    // The browser retries a broken stream, but not a refused one.
    if (source.readyState !== EventSource.CLOSED || source !== state.source) return;
    // For example, the session has ended while this page was hidden. A reload shows the login.
    if (await isForbidden(source.url)) return location.reload();
    if (source !== state.source) return;
    state.retryMs = Math.min(RETRY_MOST_MS, state.retryMs * 2);
    state.retry = setTimeout(connect, state.retryMs * (0.5 + Math.random() / 2));
  });
}

/** Return true if the server refuses the stream to this person. An `EventSource` doesn't report the status. */
async function isForbidden(url) {
  const asked = new AbortController();
  try {
    const { status } = await fetch(url, { credentials: "same-origin", signal: asked.signal });
    return status === 401 || status === 403;
  } catch {
    return false; // no network
  } finally {
    asked.abort();
  }
}

function heard({ age_ms: ageMs, as_of: asOf, partitions }) {
  if (!state.paused) showAsOf(partitions);
  state.ageMs = ageMs;
  state.lastAsOf = asOf;
  state.heardAt = performance.now();
  state.checking = false;
  state.retryMs = 500;
}

/** Update the as-of time of every row. Heartbeats advance it even if nothing is sold. */
function showAsOf(partitions) {
  for (const [number, moment] of Object.entries(partitions)) {
    for (const cell of document.querySelectorAll(`[data-partition="${number}"] [data-f="as_of"]`)) {
      if (cell.textContent < moment) cell.textContent = moment;
    }
  }
}

function showAge() {
  const pill = document.getElementById("pill");
  const silentMs = performance.now() - state.heardAt;
  const [name, said] = pillOf(silentMs);
  if (pill.dataset.state !== name) pill.dataset.state = name;
  if (pill.textContent !== said) pill.textContent = said;
}

function pillOf(silentMs) {
  const waitingMs = performance.now() - state.checkedAt;
  if (state.checking && waitingMs < SILENT_MS) return ["checking", text("Checking…")];
  const ageMs = state.ageMs === null ? Infinity : state.ageMs + silentMs;
  const lost = state.checking || silentMs > SILENT_MS;
  if (lost || ageMs > OFFLINE_MS) {
    return ["offline", state.lastAsOf ? text("Offline · showing {time}", { time: state.lastAsOf }) : text("Offline")];
  }
  if (ageMs > LIVE_MS) return ["delayed", text("Delayed {seconds} s", { seconds: Math.round(ageMs / 1000) })];
  return ["live", text("Live · {seconds} s", { seconds: (ageMs / 1000).toFixed(1) })];
}

function startPause() {
  const button = document.getElementById("pause");
  button.hidden = false;
  button.addEventListener("click", () => {
    state.paused = !state.paused;
    button.setAttribute("aria-pressed", String(state.paused));
    button.textContent = state.paused ? text("Resume") : text("Pause");
    if (state.paused) return;
    take(Object.fromEntries(state.held));
    state.held.clear();
  });
}

function take(patches) {
  const rows = state.paused ? new Map() : rowsByKey();
  for (const [key, patch] of Object.entries(patches)) {
    if (state.paused) state.held.set(key, patch);
    else apply(rows.get(key) ?? [], patch);
  }
}

/** Return a map from each key to its rows. A search per key would go through the whole page each time. */
function rowsByKey() {
  const rows = new Map();
  for (const row of document.querySelectorAll("[data-key]")) {
    const others = rows.get(row.dataset.key);
    if (others) others.push(row);
    else rows.set(row.dataset.key, [row]);
  }
  return rows;
}

function apply(rows, patch) {
  const [generation, offset] = patch.position;
  for (const row of rows) {
    const seen = [Number(row.dataset.generation), Number(row.dataset.offset)];
    // Skip a patch that isn't newer than the row.
    if (generation < seen[0] || (generation === seen[0] && offset <= seen[1])) continue;
    row.dataset.generation = generation;
    row.dataset.offset = offset;
    const changed = writeCells(row, withoutOlderPrice(row, patch));
    if (changed && "detail" in row.dataset) showFactsChanged();
  }
}

/** Return the patch, without its price if the row already has the ledger's price of a later time. */
function withoutOlderPrice(row, patch) {
  if (patch.priced_at_us >= Number(row.dataset.pricedAt)) {
    row.dataset.pricedAt = patch.priced_at_us;
    return patch;
  }
  const { price, ...cells } = patch.cells;
  return { ...patch, cells };
}

// Return true if a figure has changed. Don't write equal texts: each write makes the browser lay out the
// table again.
function writeCells(row, { cells, status }) {
  let changed = false;
  for (const cell of row.querySelectorAll("[data-f]")) {
    const name = cell.dataset.f;
    if (name === "status") writeStatus(cell, status);
    const shown = cells[name];
    if (shown === undefined || cell.textContent === shown) continue;
    write(cell, shown);
    if (name === "offset") continue;
    highlight(cell);
    changed = true;
  }
  return changed;
}

// Change the existing text node: a new one makes the browser compute the styles of the cell again.
function write(cell, shown) {
  const node = cell.firstChild;
  if (node?.nodeType === Node.TEXT_NODE && !node.nextSibling) node.data = shown;
  else cell.textContent = shown;
}

function writeStatus(cell, [code, word, meaning]) {
  const shown = cell.querySelector("[data-word]");
  if (cell.classList.contains(code) && shown.textContent === word) return;
  cell.className = `status ${code}`;
  cell.title = meaning;
  shown.textContent = word;
}

/** Highlight the cell for a second. No animation: while many rows change, it would be painted all the time. */
function highlight(cell) {
  clearTimeout(marked.get(cell));
  cell.classList.add("fresh");
  marked.set(cell, setTimeout(() => cell.classList.remove("fresh"), MARKED_MS));
}

function showFactsChanged() {
  const line = document.getElementById("facts-changed");
  if (!line || !line.hidden) return;
  line.hidden = false;
}
