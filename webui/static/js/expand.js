// Details of a row open below the row. Without this script, the link loads the page with the details.
// With it, only the list is replaced, and the row keeps its position on the screen.
import { swap } from "./swap.js";

export function startExpand() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-expand]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    toggle(link);
  });
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest?.("a[data-expand]");
    // The link looks like a button, and the space bar presses a button.
    if (link && event.key === " ") {
      event.preventDefault();
      toggle(link);
    }
    if (event.key === "Escape") close(event.target);
  });
}

/** Close the open details if the focus is in them. */
function close(target) {
  const details = target.closest?.("tr.details, tr.detail");
  const link = details?.previousElementSibling?.querySelector("a[data-expand][aria-expanded=true]");
  if (link) toggle(link);
}

async function toggle(link) {
  const { id } = link.closest("tr");
  const { top } = link.getBoundingClientRect();
  const part = link.closest("#desk, #list, #tallies");
  if (!part || !(await swap(link.href, `#${part.id}`))) {
    location.assign(link.href);
    return;
  }
  history.replaceState(null, "", link.href.replace(/#.*/, ""));
  const again = document.getElementById(id)?.querySelector("[data-expand]");
  if (!again) return;
  scrollBy({ top: again.getBoundingClientRect().top - top, behavior: "instant" });
  again.focus({ preventScroll: true });
}
