// Entry point of every page. The frame comes with it; a module of some pages is fetched only where
// its elements are, so that a first visit takes few requests.
import { startFrame } from "./frame.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";

const live = startLive();
startFrame();
startKeys();

// In this order: the answer to a refused form comes last, so that a scan field keeps its focus.
const PARTS = [
  ["form[data-search]", () => import("./search.js"), (module) => module.startSearch(live)],
  ["#desk, [data-poll], [data-reload], [data-autosubmit]", () => import("./desk.js"), (module) => module.startDesk()],
  ["form[data-delivery]", () => import("./delivery.js"), (module) => module.startDelivery()],
  ["#desk, [data-pick-all]", () => import("./pick.js"), (module) => module.startPick()],
  ["form[data-scan]", () => import("./scan.js"), (module) => module.startScan()],
  ["form[data-uses]", () => import("./uses.js"), (module) => module.startUses()],
  ["body[data-answer]", () => import("./answer.js"), (module) => module.startAnswer()],
];
const wanted = PARTS.filter(([selector]) => document.querySelector(selector));
const modules = await Promise.all(wanted.map(([, load]) => load()));
wanted.forEach(([, , start], at) => start(modules[at]));
