// Entry point of every page. Each module finds its own elements and does nothing without them.
import { startAnswer } from "./answer.js";
import { startDelivery } from "./delivery.js";
import { startDesk } from "./desk.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startPick } from "./pick.js";
import { startScan } from "./scan.js";
import { startSearch } from "./search.js";
import { startUses } from "./uses.js";

const live = startLive();
startSearch(live);
startDesk();
startDelivery();
startForms();
startKeys();
startPick();
startScan();
startUses();
startAnswer();
