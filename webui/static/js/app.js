// Entry point of every page. The server sends it and all modules that it imports as one file
// (webui/config/joined_files.py), so that a first visit takes few requests.
import { startAnswer } from "./answer.js";
import { startCharts } from "./charts.js";
import { startDelivery } from "./delivery.js";
import { startDesk } from "./desk.js";
import { startExpand } from "./expand.js";
import { startFind } from "./find.js";
import { startFrame } from "./frame.js";
import { startHistory } from "./history.js";
import { startKeptSheets, startLateEntries } from "./kept.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startNames } from "./names.js";
import { startNeeds } from "./needs.js";
import { startPick } from "./pick.js";
import { startPrint } from "./print.js";
import { startScan } from "./scan.js";
import { startSearch } from "./search.js";
import { startUses } from "./uses.js";

const live = startLive();
startFrame();
startKeys();

// [selector, start]: on pages with such an element, the module starts. The modules start in this
// order. `startAnswer` is last, so that a scan field keeps the focus.
const PARTS = [
  ["form[data-search]", () => startSearch(live)],
  ["#desk, [data-poll], [data-reload], [data-autosubmit]", startDesk],
  ["#desk, #list, #tallies", startExpand],
  ["form[data-delivery]", startDelivery],
  ["#desk, form[data-picks]", startPick],
  ["form[data-scan]", startScan],
  ["form[data-late]", startLateEntries],
  ["[data-kept-sheets]", startKeptSheets],
  ["form[data-uses]", startUses],
  ["form[data-names]", startNames],
  ["figure[data-chart]", startCharts],
  ["form.seek", startFind],
  ["#work[data-open]", startHistory],
  ["button[data-print]", startPrint],
  ["[data-sends]", startNeeds],
  ["body[data-answer]", startAnswer],
];
for (const [selector, start] of PARTS) {
  if (document.querySelector(selector)) start();
}
