// Suppress a second click on a command. Correctness does not depend on it, because the ledger
// recognises the command's id.

export function startForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-once]");
    if (!form) return;
    if (form.getAttribute("aria-busy") === "true") {
      event.preventDefault();
      return;
    }
    form.setAttribute("aria-busy", "true");
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[aria-busy]")) form.removeAttribute("aria-busy");
  });
}
