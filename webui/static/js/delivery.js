// Receiving with a scanner: each scan adds one unit to the line of its item, or the units of a case.
// SKUs and codes of the page's items work without a network. For any other code, the script asks the
// server. Without this script, people type the same numbers into the same fields.
import { counted, text } from "./frame.js";

export function startDelivery() {
  const form = document.querySelector("form[data-delivery]");
  if (!form) return;
  form.addEventListener("input", () => showSum(form));
  showSum(form);
  const strip = form.querySelector("[data-pick]");
  const field = form.querySelector("[data-pick-field]");
  const said = form.querySelector("[data-pick-said]");
  const codes = new Map(Object.entries(JSON.parse(strip.dataset.codes)));
  // The field is disabled until now, because a scan would have had no effect before this script ran.
  field.disabled = false;
  field.focus();
  field.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    // A scanner ends its input with Enter.
    event.preventDefault();
    const code = field.value.trim();
    field.select();
    if (!code) return;
    const [sku, scanned] = known(form, codes, code) ?? [];
    said.textContent = sku ? add(form, sku, scanned) : await ask(form, strip, code);
  });
}

/** Return [SKU, units of one scan] of a code of this page, or undefined. */
function known(form, codes, code) {
  if (rowsOf(form, code).length) return [code, 1];
  return codes.get(/^[0-9]{8,14}$/.test(code) ? code.padStart(14, "0") : code.toUpperCase());
}

/** Ask the server about a code that the page doesn't know, and add its units; return a message. */
async function ask(form, strip, code) {
  try {
    const answer = await fetch(`${strip.dataset.ask}?${new URLSearchParams({ q: code })}`, { credentials: "same-origin" });
    const found = await answer.json();
    if (found.why) return `${code}: ${found.why}`;
    if (rowsOf(form, found.sku).length) return add(form, found.sku, found.units);
    return missing(strip, code === found.sku ? code : `${found.sku} (${code})`);
  } catch {
    return missing(strip, code);
  }
}

/** Return the message for a code that adds nothing. The page has only the first lines of a very long order. */
function missing(strip, code) {
  if ("more" in strip.dataset) return text("{code} is not on this page. Nothing was added. It may be on a further line of this order: receive the lines of this page first.", { code });
  return text("{code} is not on this order. Nothing was added. Keep the item separate and ask the buyer.", { code });
}

function rowsOf(form, sku) {
  return [...form.querySelectorAll("[data-sku]")].filter((row) => row.dataset.sku === sku);
}

/**
 * Add units to the first incomplete line of `sku`, or to its first line if all are complete. Damaged
 * units count as arrived. Return a message with the new count.
 */
function add(form, sku, scanned) {
  const rows = rowsOf(form, sku);
  const incomplete = rows.find((row) => units(row.querySelector("[data-received]")) + units(row.querySelector("[data-damaged]")) < expected(row));
  const input = (incomplete ?? rows[0]).querySelector("[data-received]");
  input.value = String(units(input) + scanned);
  showSum(form);
  return text("{sku}: {units} of {expected}.", { sku, units: input.value, expected: expected(input.closest("[data-sku]")) });
}

/** Show in the bar how much of the delivery is typed, and mark each row that is complete or differs. */
function showSum(form) {
  let arrived = 0;
  let wanted = 0;
  for (const row of form.querySelectorAll("[data-sku]")) {
    const received = row.querySelector("[data-received]");
    const damaged = units(row.querySelector("[data-damaged]"));
    arrived += units(received) + damaged;
    wanted += expected(row);
    const isAsExpected = !damaged && units(received) === expected(row);
    row.dataset.typed = !received.value && !damaged ? "" : isAsExpected ? "complete" : "differs";
  }
  const line = form.querySelector("[data-delivery-sum]");
  line.dataset.deliverySum ||= line.textContent;
  const typed = { arrived: arrived.toLocaleString("en") };
  line.textContent = arrived ? counted("Typed: {arrived} of {number} unit", "Typed: {arrived} of {number} units", wanted, typed) : line.dataset.deliverySum;
}

function units(input) {
  return Number(input.value || 0);
}

function expected(row) {
  return Number(row.querySelector("[name^=expected-]").value);
}
