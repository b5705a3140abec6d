// Entry point of the printable order, which is a page without a frame. The server sends it joined
// with its modules, as it does with app.js.
import { startPrint } from "./print.js";

startPrint();
