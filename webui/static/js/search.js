// The stock list answers while one types; the address always says what is shown.
import { say, swap } from "./swap.js";

const PAUSE_MS = 200;

export function startSearch(live) {
  const form = document.querySelector("form[data-search]");
  if (!form) return;
  let timer = 0;
  let newest = 0;
  const run = async () => {
    clearTimeout(timer);
    const mine = ++newest;
    const filled = [...new FormData(form)].filter(([, text]) => text !== "");
    const query = new URLSearchParams(filled).toString();
    const url = query ? `${form.action}?${query}` : form.action;
    // Answers overtake each other: only the newest question's may be shown.
    if (!(await swap(url, form.dataset.search, () => mine === newest))) return;
    history.replaceState(null, "", url);
    live.reconnect();
    say(`${document.querySelectorAll("tr[data-key]").length} rows shown`);
  };
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(run, event.target.matches("input") ? PAUSE_MS : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
}
