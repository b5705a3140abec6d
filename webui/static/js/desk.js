// Desks and the page System ask the server for changes repeatedly. While a person works in a list, the
// list stays as it is, and a button offers the changes.
import { text } from "./frame.js";
import { CARD, keepPlace } from "./place.js";
import { POLL, say, swap } from "./swap.js";

const EVERY_MS = 2_000;
const TYPED_MS = 1_000;
// Keys that choose an option of a closed select.
const CHOOSES = /^(Arrow.+|Home|End|PageUp|PageDown|.)$/u;

export function startDesk() {
  startReload();
  startVersion();
  startPoll();
}

function startReload() {
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-reload]")) location.reload();
  });
  for (const form of document.querySelectorAll("form[data-autosubmit]")) startFilter(form);
}

/**
 * Submit a filter form when a person chooses a value, so that the list never differs from its
 * filters. On a closed select, each arrow or letter key changes the value. So within a second after
 * such a key, don't submit: wait until the person presses Enter or leaves the form.
 */
function startFilter(form) {
  let typedAt = -Infinity;
  let isPending = false;
  const isTyping = () => performance.now() - typedAt < TYPED_MS;
  const submit = () => {
    isPending = false;
    form.requestSubmit();
  };
  form.addEventListener("keydown", (event) => {
    if (!event.target.matches("select")) return;
    if (event.key === "Enter") {
      event.preventDefault();
      submit();
    }
    // These keys open the list, where a choice is one change. But while a person types the name of an
    // option, a space is a letter of this name.
    const opens = event.key === "F4" || event.altKey || (event.key === " " && !isTyping());
    if (opens) typedAt = -Infinity;
    else if (CHOOSES.test(event.key)) typedAt = performance.now();
  });
  form.addEventListener("pointerdown", () => {
    typedAt = -Infinity;
  });
  form.addEventListener("change", () => {
    isPending = isTyping();
    if (!isPending) submit();
  });
  form.addEventListener("focusout", (event) => {
    if (isPending && !form.contains(event.relatedTarget)) submit();
  });
}

function startVersion() {
  if (!document.getElementById("desk")) return;
  const button = document.getElementById("desk-changed");
  every(EVERY_MS, async () => {
    const desk = document.getElementById("desk");
    const answer = await fetch(desk.dataset.versionUrl, { credentials: "same-origin", headers: POLL });
    if (!answer.ok || answer.redirected) return;
    const { version } = await answer.json();
    if (version === desk.dataset.version) return;
    let goBack = () => {};
    const isFree = (here) => {
      goBack = keepPlace(here);
      return !isBusy(here);
    };
    if (!isBusy(desk) && (await swap(location.href, "#desk", isFree, POLL))) {
      goBack();
      button.hidden = true;
      say(desk.dataset.news || text("Proposals have changed"));
    } else if (isBusy(desk)) {
      button.hidden = false;
    }
  });
}

/** Return true if the person works in the list (opened, focused or changed a part) or paused it. */
function isBusy(desk) {
  const at = document.activeElement;
  // The focus on a whole card doesn't count, because each decision moves the focus to the next card.
  if (isPaused() || (desk.contains(at) && !at.matches(CARD))) return true;
  if (desk.querySelector("details[open]:not([data-section]), [role=alert], [aria-busy=true], [aria-expanded=true]")) return true;
  return [...desk.querySelectorAll("input")].some((input) =>
    // Compare checkboxes by `checked`: their `value` doesn't change when a person ticks them.
    ["checkbox", "radio"].includes(input.type)
      ? input.checked !== input.defaultChecked
      : input.value !== input.defaultValue,
  );
}

function startPoll() {
  const part = document.querySelector("[data-poll]");
  if (!part) return;
  every(Number(part.dataset.poll), async () => {
    const here = document.getElementById(part.id);
    // The part may have been replaced by one without `data-poll`, which has no more changes to show.
    if (!("poll" in here.dataset)) return;
    const isFree = () => !isPaused() && !here.contains(document.activeElement);
    if (isFree()) await swap(location.href, `#${part.id}`, isFree, POLL);
  });
}

function isPaused() {
  return document.getElementById("pause")?.getAttribute("aria-pressed") === "true";
}

function every(pauseMs, work) {
  const turn = async () => {
    if (!document.hidden) {
      try {
        await work();
      } catch {
        // Offline: the pill shows it, and the next poll retries.
      }
    }
    setTimeout(turn, pauseMs);
  };
  setTimeout(turn, pauseMs);
}
