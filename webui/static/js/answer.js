// A page that answers a refused form. Its address is that of the command, which a reload, poll or
// bookmark must not request. So this module restores the address of the page with the form.

/**
 * Restore the address, and scroll to the reason of the refusal. Focus the reason, unless a field has
 * the focus: run this after the modules that focus a field.
 */
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
