// Charts of an item: on-hand, demand and price by day. Each chart is drawn from the table below it, so
// the two can't differ. The library uPlot is fetched once, when the first chart comes into view.
import { text } from "./frame.js";

const LIBRARY = new URL("../vendor/uplot/uPlot.iife.min.js", import.meta.url).href;
const HEIGHT = 230;
const DAY_S = 86_400;
const KINDS = { stock: stockOptions, demand: demandOptions, price: priceOptions };

let library = null;

export function startCharts() {
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  });
  for (const figure of figures) seen.observe(figure);
}

/** Return a promise of the library. If it can't be loaded, the table below shows the same numbers. */
function load() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = LIBRARY;
    script.addEventListener("load", () => resolve(window.uPlot));
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  return library;
}

async function draw(figure) {
  const days = rowsOf(figure);
  if (days.length < 2) return;
  const uPlot = await load().catch(() => null);
  if (!uPlot) return;
  const plot = document.createElement("div");
  plot.className = "plot";
  const readout = document.createElement("p");
  readout.className = "readout";
  figure.querySelector("details").before(plot, readout);
  const show = () => {
    plot.replaceChildren();
    return chartOf(uPlot, figure, plot, days, (at) => tell(plot, readout, days, at));
  };
  let chart = show();
  makeSlider(plot, figure, days, () => chart);
  new ResizeObserver(() => chart.setSize({ width: plot.clientWidth, height: HEIGHT })).observe(plot);
  // Draw again when the device changes between light and dark: the colours come from the style sheet.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    chart.destroy();
    chart = show();
  });
  tell(plot, readout, days, days.length - 1);
}

/** Return each day of the table: `at` in seconds since 1970 UTC, `values` (null if empty), `marks`, `text`. */
function rowsOf(figure) {
  const heads = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
  return [...figure.querySelectorAll("tbody tr")].map((row) => ({
    at: Number(row.dataset.day),
    values: row.dataset.v.split(",").map((text) => (text === "" ? null : Number(text))),
    marks: (row.dataset.marks ?? "").split(" ").filter(Boolean),
    text: [...row.cells]
      .map((cell, place) => [cell.matches("td.n") ? `${heads[place]} ` : "", cell.textContent.trim()])
      .filter(([, text]) => text)
      .map(([head, text]) => head + text)
      .join(" · "),
  }));
}

function chartOf(uPlot, figure, plot, days, onDay) {
  const options = KINDS[figure.dataset.chart](uPlot, figure, days);
  const data = [days.map((day) => day.at), ...options.data];
  const shared = {
    width: plot.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { time: true, range: (_, low, high) => [low - DAY_S / 2, high + DAY_S / 2] }, y: { range: rangeOf(data) } },
    axes: axesOf(options.unit ?? 1),
    series: [{}, ...options.series],
    hooks: {
      drawClear: options.below ? [options.below] : [],
      draw: options.above ? [options.above] : [],
      setCursor: [(chart) => chart.cursor.idx != null && onDay(chart.cursor.idx)],
    },
  };
  return new uPlot(shared, data, plot);
}

/** Return the range of the vertical axis: it includes 0, and has room above the highest value. */
function rangeOf(data) {
  const values = data.slice(1).flat().filter((one) => one !== null && one !== undefined);
  const low = Math.min(0, ...values);
  const high = Math.max(1, ...values);
  return [low, high + (high - low) * 0.08];
}

function axesOf(unit) {
  const ink = colour("--soft");
  const line = colour("--line");
  const font = "12px system-ui, sans-serif";
  const common = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  // "en" alone would write the month before the day, unlike the other times of a page in English.
  const language = document.documentElement.lang.replace(/^en$/, "en-GB");
  const months = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" });
  const digits = unit === 1 ? 0 : 2;
  return [
    { ...common, values: (_, ticks) => ticks.map((at) => months.format(at * 1000)), space: 70, incrs: [1, 2, 7, 14, 28].map((n) => n * DAY_S) },
    { ...common, values: (_, ticks) => ticks.map((one) => (unit === 1 && one % 1 ? "" : (one / unit).toFixed(digits))), size: 56 },
  ];
}

function stockOptions(uPlot, figure, days) {
  const ink = colour("--brand");
  const stepped = uPlot.paths.stepped({ align: 1 });
  return {
    data: [days.map((day) => day.values[0])],
    series: [{ stroke: ink, width: 2, fill: `${ink}22`, paths: stepped, points: { show: false } }],
    above: (chart) => {
      for (const day of days) {
        day.marks.forEach((mark, place) => drawMark(chart, mark, day, place));
      }
    },
  };
}

function demandOptions(uPlot, figure, days) {
  const rate = Number(figure.dataset.rate) / 1_000_000;
  const bars = uPlot.paths.bars({ size: [0.7, 40] });
  return {
    data: [days.map((day) => day.values[0]), days.map(() => rate)],
    series: [
      { fill: colour("--brand"), stroke: colour("--brand"), width: 0, paths: bars, points: { show: false } },
      { stroke: colour("--info"), width: 2, dash: [6, 4], points: { show: false } },
    ],
    below: (chart) => days.forEach((day) => shade(chart, day)),
  };
}

function priceOptions(uPlot, figure, days) {
  const stepped = uPlot.paths.stepped({ align: 1 });
  const floor = figure.dataset.floor === "" ? null : Number(figure.dataset.floor);
  const plain = { paths: stepped, points: { show: false } };
  return {
    unit: 100,
    data: [days.map((day) => day.values[0]), days.map((day) => day.values[1]), days.map(() => floor)],
    series: [
      { ...plain, stroke: colour("--brand"), width: 2 },
      { ...plain, stroke: colour("--warn"), width: 2, dash: [6, 4] },
      { ...plain, stroke: colour("--bad"), width: 1, dash: [2, 4] },
    ],
  };
}

/** Shade a day that was out of stock: dark for `out` (it doesn't count as demand), light for `part`. */
function shade(chart, day) {
  const isOut = day.marks.includes("out");
  if (!isOut && !day.marks.includes("part")) return;
  const { ctx, bbox } = chart;
  const half = DAY_S / 2;
  const left = Math.max(bbox.left, chart.valToPos(day.at - half, "x", true));
  const right = Math.min(bbox.left + bbox.width, chart.valToPos(day.at + half, "x", true));
  ctx.save();
  ctx.globalAlpha = isOut ? 0.35 : 0.15;
  ctx.fillStyle = colour("--soft");
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

/** Draw a mark above the day's value; a second mark of the day goes above the first. */
function drawMark(chart, mark, day, place) {
  const { ctx } = chart;
  const size = 4.5 * devicePixelRatio;
  const x = chart.valToPos(day.at, "x", true);
  const y = chart.valToPos(day.values[0], "y", true) - place * size * 2.6;
  ctx.save();
  ctx.beginPath();
  SHAPES[mark](ctx, x, y, size);
  ctx.closePath();
  ctx.fillStyle = mark === "late" ? colour("--card") : colour(INKS[mark]);
  ctx.strokeStyle = colour(mark === "late" ? INKS[mark] : "--card");
  ctx.lineWidth = (mark === "late" ? 2 : 1) * devicePixelRatio;
  ctx.fill();
  ctx.stroke();
  ctx.restore();
}

const INKS = { count: "--good", receipt: "--info", transfer: "--warn", late: "--bad" };
const SHAPES = {
  count: (ctx, x, y, r) => corners(ctx, [x, y - r], [x + r, y], [x, y + r], [x - r, y]),
  receipt: (ctx, x, y, r) => corners(ctx, [x, y - r], [x + r, y + r], [x - r, y + r]),
  transfer: (ctx, x, y, r) => corners(ctx, [x - r, y - r], [x + r, y - r], [x + r, y + r], [x - r, y + r]),
  late: (ctx, x, y, r) => ctx.arc(x, y, r, 0, 2 * Math.PI),
};

function corners(ctx, first, ...others) {
  ctx.moveTo(...first);
  for (const corner of others) ctx.lineTo(...corner);
}

/** Make the chart a slider: arrow keys choose a day, and screen readers announce its text. */
function makeSlider(plot, figure, days, chart) {
  const last = days.length - 1;
  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");
  plot.setAttribute("aria-label", text("{label} by day", { label: figure.dataset.label }));
  plot.setAttribute("aria-valuemin", "0");
  plot.setAttribute("aria-valuemax", String(last));
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -7, PageUp: 7, Home: -last, End: last };
  plot.addEventListener("keydown", (event) => {
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const at = Number(plot.getAttribute("aria-valuenow"));
    const next = Math.min(last, Math.max(0, at + steps[event.key]));
    const left = chart().valToPos(days[next].at, "x");
    chart().setCursor({ left, top: HEIGHT / 2 });
  });
}

function tell(plot, readout, days, at) {
  plot.setAttribute("aria-valuenow", String(at));
  plot.setAttribute("aria-valuetext", days[at].text);
  readout.textContent = days[at].text;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
