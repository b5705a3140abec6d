// The button that opens the browser's print dialog. Without this script it stays hidden.

export function startPrint() {
  const button = document.querySelector("button[data-print]");
  button.hidden = false;
  button.addEventListener("click", () => print());
}
