// A list updates while a person types, and the address in the browser then has the same filters. With
// data-search-on="submit", the list updates when the person presses Enter.
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
    // Responses can arrive in another order than the requests. Show only that of the newest request.
    if (!(await swap(url, form.dataset.search, () => mine === newest))) {
      // After a failed request, load the page: the old list would look like the result of the scan or filter.
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
