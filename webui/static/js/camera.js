// Scanning with the camera, in browsers that can read barcodes (`BarcodeDetector`).
import { text } from "./frame.js";

const EVERY_MS = 150;
const FORMATS = ["ean_13", "ean_8", "upc_a", "upc_e", "code_128", "code_39", "itf", "qr_code"];

/** Show the camera button and call `found(code)` with each code that the camera reads. */
export async function startCamera(form, found) {
  const button = form.querySelector("[data-camera]");
  const dialog = document.querySelector("dialog.viewer");
  if (!button) return;
  const formats = await readableFormats();
  if (!formats.length) {
    const line = document.querySelector("[data-no-camera]");
    // Show the reason on touch devices only. People at a desk have a scanner and expect no camera.
    if (line && matchMedia("(pointer: coarse)").matches) line.hidden = false;
    return;
  }
  const detector = new BarcodeDetector({ formats });
  button.hidden = false;
  button.addEventListener("click", () => open(dialog, detector, found));
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
}

/** Return the names of the formats that this browser can read; [] if it can read none, or without HTTPS. */
async function readableFormats() {
  if (!("BarcodeDetector" in window) || !navigator.mediaDevices?.getUserMedia) return [];
  const known = await BarcodeDetector.getSupportedFormats();
  return FORMATS.filter((format) => known.includes(format));
}

async function open(dialog, detector, found) {
  const video = dialog.querySelector("video");
  const says = dialog.querySelector("[data-says]");
  says.textContent = text("Hold the barcode in front of the camera.");
  dialog.showModal();
  let stream = null;
  dialog.addEventListener("close", () => stop(video), { once: true });
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch {
    says.textContent = text("The camera can’t be used. Allow it for this page in the browser, or type the code.");
    return;
  }
  stop(video); // an earlier opening may have got its permission late, and started the camera meanwhile
  video.srcObject = stream;
  // The person may have closed the dialog while the browser asked for the permission.
  if (!dialog.open) return stop(video);
  try {
    await video.play();
  } catch {
    // The person may have closed the dialog meanwhile.
    if (dialog.open) says.textContent = text("The camera can’t be used. Allow it for this page in the browser, or type the code.");
    return;
  }
  watch(dialog, video, detector, found);
}

async function watch(dialog, video, detector, found) {
  while (dialog.open) {
    const [code] = await detector.detect(video).catch(() => []);
    if (code && dialog.open) {
      dialog.close();
      found(code.rawValue.trim());
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

function stop(video) {
  for (const track of video.srcObject?.getTracks() ?? []) track.stop();
  video.srcObject = null;
}
