// Hide the fields of a form that the rules don't use with its present choices. Hidden fields are not
// sent, so their columns get the default. Without this script, every field is visible.

export function startUses() {
  const form = document.querySelector("form[data-uses]");
  if (!form) return;
  form.addEventListener("change", () => show(form));
  // A page restored from the back/forward cache has its choices, but shows every field.
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

/** Return true if a field has one of the values of `name=one,other`. */
function holds(form, pair) {
  const [name, values] = pair.split("=");
  return values.split(",").includes(form.elements[name].value);
}
