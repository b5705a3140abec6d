// Entry point of every page. It loads the frame, and a module of `PARTS` only if the page has an
// element for it, so that a first visit takes few requests.
import { startFrame } from "./frame.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";

const live = startLive();
startFrame();
startKeys();

// In this order: the answer to a refused form comes last, so that a scan field keeps its focus.
const PARTS = [
  {
    at: "form[data-search]",
    file: "search.js",
    load: () => import("./search.js"),
    start: (module) => module.startSearch(live),
  },
  {
    at: "#desk, [data-poll], [data-reload], [data-autosubmit]",
    file: "desk.js",
    load: () => import("./desk.js"),
    start: (module) => module.startDesk(),
  },
  {
    at: "#desk, #list, #tallies",
    file: "expand.js",
    load: () => import("./expand.js"),
    start: (module) => module.startExpand(),
  },
  {
    at: "form[data-delivery]",
    file: "delivery.js",
    load: () => import("./delivery.js"),
    start: (module) => module.startDelivery(),
  },
  {
    at: "#desk, [data-pick-all]",
    file: "pick.js",
    load: () => import("./pick.js"),
    start: (module) => module.startPick(),
  },
  {
    at: "form[data-scan]",
    file: "scan.js",
    load: () => import("./scan.js"),
    start: (module) => module.startScan(),
  },
  {
    at: "form[data-uses]",
    file: "uses.js",
    load: () => import("./uses.js"),
    start: (module) => module.startUses(),
  },
  {
    at: "form[data-names]",
    file: "names.js",
    load: () => import("./names.js"),
    start: (module) => module.startNames(),
  },
  {
    at: "body[data-answer]",
    file: "answer.js",
    load: () => import("./answer.js"),
    start: (module) => module.startAnswer(),
  },
];
const wanted = PARTS.filter(({ at }) => document.querySelector(at));
const loading = wanted.map(({ load }) => load());
wanted.forEach(holdLoad);
const modules = await Promise.all(loading);
wanted.forEach(({ start }, at) => start(modules[at]));

/** Delay the page's load event until the module is loaded: a script element does so, an import alone doesn't. */
function holdLoad({ file }) {
  const script = document.createElement("script");
  script.type = "module";
  script.src = new URL(file, import.meta.url).href;
  document.head.append(script);
}
