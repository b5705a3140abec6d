// Picking many needs at once: one button ticks every box, and the number of ticked ones is shown.

export function startPick() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[name=pick]")) tell();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-pick-all]")) return;
    const boxes = [...document.querySelectorAll("[name=pick]")];
    const wanted = boxes.some((box) => !box.checked);
    for (const box of boxes) box.checked = wanted;
    tell();
  });
  show();
  // The desk replaces its list when needs change; show the button of the new list, too.
  const around = document.getElementById("desk")?.parentElement;
  if (around) new MutationObserver(show).observe(around, { childList: true });
}

function show() {
  const button = document.querySelector("[data-pick-all][hidden]");
  if (button) button.hidden = false;
}

function tell() {
  const line = document.querySelector("[data-picked]");
  if (line) line.textContent = `${document.querySelectorAll("[name=pick]:checked").length} picked`;
}
