// Receiving with a scanner: each scan of an item adds one unit to its line. Without this script
// people type the same numbers into the same fields.

export function startDelivery() {
  const form = document.querySelector("form[data-delivery]");
  if (!form) return;
  const strip = form.querySelector("[data-pick]");
  const field = form.querySelector("[data-pick-field]");
  const said = form.querySelector("[data-pick-said]");
  strip.hidden = false;
  field.focus();
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // A scanner ends its input with Enter, which must never submit the delivery.
    event.preventDefault();
    const sku = field.value.trim();
    if (sku) said.textContent = add(form, sku);
    field.select();
  });
}

/** Add one unit to the first incomplete line of `sku`; return a message with the new count. */
function add(form, sku) {
  const rows = [...form.querySelectorAll("[data-sku]")].filter((row) => row.dataset.sku === sku);
  if (!rows.length) return `${sku} is not on this order. Keep it separate and ask the buyer.`;
  const inputs = rows.map((row) => row.querySelector("[data-received]"));
  const missing = inputs.find((input, at) => units(input) < expected(rows[at]));
  const input = missing ?? inputs[0];
  input.value = String(units(input) + 1);
  return `${sku}: ${input.value} of ${expected(input.closest("[data-sku]"))}.`;
}

function units(input) {
  return Number(input.value || 0);
}

function expected(row) {
  return Number(row.querySelector("[name^=expected-]").value);
}
