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
  const run = async (isChosen) => {
    clearTimeout(timer);
    const mine = ++newest;
    const filled = [...new FormData(form)].filter(([, text]) => text !== "");
    const query = new URLSearchParams(filled).toString();
    const url = query ? `${form.action}?${query}` : form.action;
    // Responses can overtake each other: show only that of the newest request.
    if (!(await swap(url, form.dataset.search, () => mine === newest))) {
      // Without an answer, the old list would look like the answer to a scan or a chosen filter.
      if (isChosen && mine === newest) location.assign(url);
      return;
    }
    history.replaceState(null, "", url);
    live.reconnect();
    say(counted("{number} row shown", "{number} rows shown", document.querySelectorAll("tr[data-key], article[data-sku]").length));
  };
  form.addEventListener("input", (event) => {
    if (form.dataset.searchOn === "submit") return;
    clearTimeout(timer);
    const isTyped = event.target.matches("input");
    timer = setTimeout(run, isTyped ? PAUSE_MS : 0, !isTyped);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(true);
  });
  // The person typed before this script was loaded.
  const field = form.querySelector("input[type=search]");
  if (field && field.value !== field.defaultValue) run(false);
}
