// Picking many rows at once: the bar shows the number, value and suppliers of the ticked rows. The bar
// only adds up the values in the rows. The server computes every amount again.
import { counted, text } from "./frame.js";

const PICK = "[name=pick]";

export function startPick() {
  document.addEventListener("input", (event) => {
    const row = event.target.closest("tr[data-proposal]");
    if (row && event.target.type === "number") showQuantity(row);
    if (event.target.matches(`${PICK}, tr[data-proposal] input`)) tell();
  });
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-pick-section]");
    if (all) pickSection(all);
    if (all || event.target.matches(PICK)) tell();
  });
  // Enter on a checkbox would press the first button of the form, for example *Send*.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input") && event.target.form?.matches("[data-picks]")) event.preventDefault();
  });
  // Update the bar, which has the number of ticked rows in closed groups.
  document.addEventListener("toggle", (event) => event.target.matches?.("[data-section]") && tell(), true);
  // Open the details around a field that the browser refuses: otherwise nobody sees the reason.
  document.addEventListener(
    "invalid",
    (event) => event.target.closest("details")?.setAttribute("open", ""),
    true,
  );
  addEventListener("pageshow", show);
  show();
  // The desk replaces its list when needs change; prepare the new list, too.
  const around = document.getElementById("desk")?.parentElement;
  if (around) new MutationObserver(show).observe(around, { childList: true });
}

function show() {
  for (const box of document.querySelectorAll("[data-pick-section][hidden]")) box.hidden = false;
  tell();
}

function pickSection(all) {
  for (const box of boxesOf(all)) box.checked = all.checked;
}

function boxesOf(all) {
  return [...all.closest("section").querySelectorAll(PICK)];
}

function money(minor, form) {
  const amount = new Intl.NumberFormat("en", { minimumFractionDigits: 2 }).format(minor / 100);
  return `${form.dataset.currency ?? ""}${amount}`;
}

/** Return the number of packs that is typed in a row, or 0 without a valid number. */
function packsOf(row) {
  const field = row.querySelector("input[type=number]");
  return field && field.validity.valid ? Number(field.value) : 0;
}

function valueOf(row) {
  if ("value" in row.dataset) return Number(row.dataset.value);
  return packsOf(row) * Number(row.dataset.step) * Number(row.dataset.cost);
}

function showQuantity(row) {
  const packs = packsOf(row);
  const form = document.querySelector("form[data-picks]");
  const units = row.querySelector("[data-units]");
  if (!packs || !form) return;
  if (units) units.textContent = (packs * Number(row.dataset.step)).toLocaleString("en");
  row.querySelector("[data-money]").textContent = money(valueOf(row), form);
}

/** Return the number of orders of these rows that are worth less than the supplier's minimum. */
function belowMinimum(rows) {
  const groups = new Map();
  for (const row of rows.filter((one) => "minimum" in one.dataset)) {
    const { group, minimum } = row.dataset;
    const left = groups.get(group) ?? Number(minimum);
    groups.set(group, left - valueOf(row));
  }
  return [...groups.values()].filter((left) => left > 0).length;
}

/** Show the checkbox *below the minimum* only if the picked rows make an order below a supplier's minimum. */
function tellMinimum(form, rows) {
  const label = form.querySelector("[data-below]");
  const orders = belowMinimum(rows);
  label.hidden = !orders;
  const box = label.querySelector("input");
  if (!orders) box.checked = false;
  label.querySelector("span").textContent = counted("Also send {number} order below its supplier's minimum", "Also send {number} orders below their suppliers' minimums", orders);
}

function tell() {
  const form = document.querySelector("form[data-picks]");
  if (!form) return;
  for (const all of document.querySelectorAll("[data-pick-section]")) {
    const boxes = boxesOf(all);
    all.checked = boxes.length > 0 && boxes.every((box) => box.checked);
    all.indeterminate = !all.checked && boxes.some((box) => box.checked);
  }
  const rows = [...document.querySelectorAll(`${PICK}:checked`)].map((box) => box.closest("tr"));
  const suppliers = new Set(rows.map((row) => row.dataset.supplier)).size;
  const parts = [counted("{number} picked", "{number} picked", rows.length), money(rows.reduce((sum, row) => sum + valueOf(row), 0), form)];
  parts.push(counted("{number} supplier", "{number} suppliers", suppliers));
  const closed = rows.filter((row) => row.closest("details:not([open])")).length;
  if (closed) parts.push(counted("{number} in a closed group", "{number} in a closed group", closed));
  form.querySelector("[data-picked]").textContent = rows.length ? parts.join(" · ") : text("Nothing picked");
  tellMinimum(form, rows);
  form.classList.toggle("idle", rows.length === 0);
  for (const button of form.querySelectorAll("[data-needs-pick]")) button.disabled = !rows.length;
  for (const place of form.querySelectorAll("[data-number]")) place.textContent = rows.length || "";
}
