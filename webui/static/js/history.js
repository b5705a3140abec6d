// The page History fetches its part `#work` every 2 s while a request is open, to show the progress.
import { text } from "./frame.js";
import { POLL, say, swap } from "./swap.js";

const EVERY_MS = 2_000;

export function startHistory() {
  setTimeout(refresh, EVERY_MS);
}

function isQuiet(part) {
  return !part.contains(document.activeElement);
}

async function refresh() {
  const part = document.getElementById("work");
  if (!part || !("open" in part.dataset)) return;
  if (!document.hidden && isQuiet(part)) {
    const done = await swap(location.href, "#work", isQuiet, POLL);
    const now = document.getElementById("work");
    if (done && now && !("open" in now.dataset)) say(text("The request has ended."));
  }
  setTimeout(refresh, EVERY_MS);
}
