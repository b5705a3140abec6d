// The button that opens the browser's print dialog.

export function startLabels() {
  const button = document.querySelector("button[data-print]");
  button.hidden = false;
  button.addEventListener("click", () => print());
}
