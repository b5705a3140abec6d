// Details of a proposed price open below its row. Without this script the link loads the page with
// the details; with it only the list is replaced, and the place on the screen stays.
import { swap } from "./swap.js";

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-expand]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  await toggle(link);
});

// A button answers to the space bar too.
document.addEventListener("keydown", (event) => {
  const link = event.target.closest?.("a[data-expand]");
  if (!link || event.key !== " ") return;
  event.preventDefault();
  toggle(link);
});

async function toggle(link) {
  const id = link.closest("tr").id;
  const top = link.getBoundingClientRect().top;
  if (!(await swap(link.href, "#desk"))) {
    location.assign(link.href);
    return;
  }
  history.replaceState(null, "", link.href.replace(/#.*/, ""));
  const again = document.getElementById(id)?.querySelector("[data-expand]");
  if (!again) return;
  scrollBy({ top: again.getBoundingClientRect().top - top, behavior: "instant" });
  again.focus({ preventScroll: true });
}
