// Pages that answer a refused form. They arrive under the command's address, which no reload, poll
// or bookmark may request. So restore the address of the form's page, and show the reason.

/** Scroll to the reason and focus it. Run this last, so that a scan field keeps its focus. */
export function startAnswer() {
  if (!("answer" in document.body.dataset)) return;
  const from = document.referrer;
  if (from && new URL(from).origin === location.origin) history.replaceState(null, "", from);
  const why = document.querySelector("main [role=alert]:not([hidden])");
  if (!why) return;
  if (document.activeElement === document.body && !document.querySelector("[autofocus]")) {
    why.tabIndex = -1;
    why.focus({ preventScroll: true });
  }
  why.scrollIntoView({ block: "center" });
}
