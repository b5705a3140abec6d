// The buyer's desks: details of a need in an expanding row, and sends that wait.
import { text } from "./frame.js";
import { POLL, say, swap } from "./swap.js";

const SECOND_MS = 1_000;

export function startNeeds() {
  startDetails();
  startSections();
  startSends();
}

/** Show the details of a need below its row. Without this script, the link opens the page of the need. */
function startDetails() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-need]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggle(link);
  });
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && event.target.closest("tr.details");
    if (open) toggle(open.previousElementSibling.querySelector("a[data-need]"));
  });
  expandable();
  const around = document.getElementById("desk")?.parentElement;
  if (around) new MutationObserver(expandable).observe(around, { childList: true });
}

function expandable() {
  for (const link of document.querySelectorAll("a[data-need]:not([aria-expanded])")) {
    link.setAttribute("aria-expanded", "false");
  }
}

/** Open or close the details of a row. Other details stay open, so that no row above moves. */
async function toggle(link) {
  const row = link.closest("tr");
  if (link.getAttribute("aria-expanded") === "true") {
    link.setAttribute("aria-expanded", "false");
    if (row.nextElementSibling?.matches("tr.details")) row.nextElementSibling.remove();
    link.focus();
    return;
  }
  link.setAttribute("aria-expanded", "true");
  const need = await fetched(link.href);
  if (!need) {
    location.assign(link.href);
    return;
  }
  if (!row.isConnected || link.getAttribute("aria-expanded") !== "true") return;
  if (row.nextElementSibling?.matches("tr.details")) return; // opened twice before the answer
  const details = document.createElement("tr");
  details.className = "details";
  const cell = details.insertCell();
  cell.colSpan = row.cells.length;
  cell.append(need);
  row.after(details);
}

async function fetched(url) {
  try {
    const answer = await fetch(url, { credentials: "same-origin", headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return null;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const need = page.getElementById("need");
    return need && document.adoptNode(withOwnIds(need));
  } catch {
    return null; // offline: the caller opens the link, and the browser reports the lost connection
  }
}

/** Make the ids in a need's details unique, because the details of several needs can be open. Return `need`. */
function withOwnIds(need) {
  need.removeAttribute("id");
  const choices = need.querySelector("datalist");
  if (!choices) return need;
  const id = `${choices.id}-${need.dataset.needOf}`;
  for (const field of need.querySelectorAll("input[list]")) field.setAttribute("list", id);
  choices.id = id;
  return need;
}

/** Keep the section Routine open or closed when the list is replaced. */
function startSections() {
  let kept = null;
  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.matches?.("[data-section]")) kept = event.target.open;
    },
    true,
  );
  const around = document.getElementById("desk")?.parentElement;
  if (!around) return;
  new MutationObserver(() => {
    const section = document.querySelector("[data-section]");
    if (section && kept !== null) section.open = kept;
  }).observe(around, { childList: true });
}

/** Count down to the end of each send's ten seconds. Then fetch the notices until no send waits. */
function startSends() {
  let deadlines = new Map();
  const read = () => {
    const now = performance.now();
    deadlines = new Map(
      [...document.querySelectorAll("[data-waiting]")].map((send) => [send, now + Number(send.dataset.left)]),
    );
  };
  const turn = async () => {
    for (const [send, deadline] of deadlines) {
      const left = Math.max(0, Math.ceil((deadline - performance.now()) / SECOND_MS));
      const place = send.querySelector("[data-countdown]");
      if (place && place.textContent !== String(left)) place.textContent = String(left);
    }
    const isOver = [...deadlines.values()].some((deadline) => performance.now() >= deadline);
    if (isOver && !document.hidden && (await refresh())) {
      read();
      if (!deadlines.size) say(text("Sending has ended"));
    }
    if (deadlines.size) setTimeout(turn, SECOND_MS);
  };
  read();
  if (deadlines.size) turn();
}

/** Replace the notices of sends, and keep the focus in them. Return true if this worked. */
async function refresh() {
  let hadFocus = false;
  const isFree = (here) => {
    hadFocus = here.contains(document.activeElement);
    return true;
  };
  const isNew = await swap(location.href, "#sends", isFree, POLL);
  if (isNew && hadFocus) document.querySelector("#sends button, #sends a")?.focus();
  return isNew;
}
