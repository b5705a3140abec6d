// A form asks only for what the rules read with what is chosen in it. What is put away is not sent, so
// its column keeps the default. Without this script every field is there, and unused ones are harmless.

export function startUses() {
  const form = document.querySelector("form[data-uses]");
  if (!form) return;
  form.addEventListener("change", () => show(form));
  // A page from the browser's memory has its choices back, and not what they put away.
  addEventListener("pageshow", () => show(form));
  show(form);
}

function show(form) {
  for (const label of form.querySelectorAll("[data-used]")) {
    const isUsed = label.dataset.used
      .split(" | ")
      .some((use) => use.split(" ").every((pair) => holds(form, pair)));
    label.hidden = !isUsed;
    label.querySelector("input, select").disabled = !isUsed;
  }
  for (const heading of form.querySelectorAll("h2[data-part]")) {
    heading.hidden = !form.querySelector(`label[data-part="${heading.dataset.part}"]:not([hidden])`);
  }
}

/** Whether a field has one of the values of `name=one,other`. */
function holds(form, pair) {
  const [name, values] = pair.split("=");
  return values.split(",").includes(form.elements[name].value);
}
