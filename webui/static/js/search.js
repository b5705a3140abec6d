// A list updates while a person types; the address always matches the shown list. With
// data-search-on="submit", it updates when they press Enter.
import { counted } from "./frame.js";
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
    // Responses can overtake each other: show only that of the newest request.
    if (!(await swap(url, form.dataset.search, () => mine === newest))) return;
    history.replaceState(null, "", url);
    live.reconnect();
    say(counted("{number} row shown", "{number} rows shown", document.querySelectorAll("tr[data-key], article[data-sku]").length));
  };
  form.addEventListener("input", (event) => {
    if (form.dataset.searchOn === "submit") return;
    clearTimeout(timer);
    timer = setTimeout(run, event.target.matches("input") ? PAUSE_MS : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  // The person typed before this script was loaded.
  const field = form.querySelector("input[type=search]");
  if (field && field.value !== field.defaultValue) run();
}
