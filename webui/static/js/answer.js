// Pages that answer a refused form. Such a page has the address of the command. A reload, poll or
// bookmark must not request that address, so restore the one of the form's page. Show the reason.

/** Scroll to the reason, and focus it unless a field has the focus. So run this last. */
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
