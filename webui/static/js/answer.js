// A refused form is answered by its page under the command's address, which no reload, poll or
// bookmark may ask for again: the page takes back the address it was sent from, and shows why.

/** Run last: what takes the focus when a page opens, a scan field, keeps it. */
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
