// Responses for a device without a network: the files of the frame, the last stock list, and a page
// that explains the lost connection. With a network, all responses come from the server.
//
// The header Keep-Offline marks responses that may be stored. A logout or a visit of the login page
// deletes them, so that the next person at this device doesn't see them.

const FILES = "files-2";
const LIST = "list-1";
const KEPT = "/kept-list";
const LONGEST_MS = 12 * 3_600_000; // the default of the longest session
const STATIC = "/static/";
const FRAME = [
  "/offline/",
  ...["css/app.css", "js/app.js", "vendor/lucide/lucide.svg"].map((path) => STATIC + path),
];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(FILES).then((cache) => cache.addAll(FRAME)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  event.waitUntil(takeOver());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin) return;
  if (pathname === "/logout/" || pathname === "/login/") event.waitUntil(caches.delete(LIST));
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(page(event));
  else if (pathname.startsWith(STATIC)) event.respondWith(file(event));
});

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => ![FILES, LIST].includes(name)).map((name) => caches.delete(name)));
  // With this setting, the browser requests a page at once, and not only after this script has started.
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
}

async function page(event) {
  try {
    const answer = (await event.preloadResponse) ?? (await fetch(event.request));
    if (answer.ok && answer.headers.has("Keep-Offline")) event.waitUntil(keep(event.request, answer.clone()));
    return answer;
  } catch {
    return withoutNetwork(event.request);
  }
}

async function keep(request, answer) {
  const headers = new Headers(answer.headers);
  // These headers describe the compressed body, and the browser has decompressed it.
  headers.delete("Content-Encoding");
  headers.delete("Content-Length");
  headers.set("Kept-At", String(Date.now()));
  headers.set("Kept-From", request.url);
  const cache = await caches.open(LIST);
  await cache.put(KEPT, new Response(await answer.text(), { headers }));
}

async function withoutNetwork(request) {
  const list = await lastList();
  if (list && new URL(list.headers.get("Kept-From")).pathname === new URL(request.url).pathname) {
    return marked(list, `data-kept-at="${list.headers.get("Kept-At")}"`);
  }
  const page = await caches.match("/offline/");
  if (!page) return Response.error();
  return list ? marked(page, `data-last-list="${pathOf(list)}"`) : page;
}

async function lastList() {
  const list = await caches.match(KEPT);
  if (!list) return undefined;
  const ageMs = Date.now() - Number(list.headers.get("Kept-At"));
  // A negative age means that the clock of the device was set back: the true age is not known.
  return ageMs >= 0 && ageMs < LONGEST_MS ? list : undefined;
}

/** Return the path of the list, without its query. The path has no quote, which would end the attribute. */
function pathOf(list) {
  return new URL(list.headers.get("Kept-From")).pathname;
}

async function marked(answer, attribute) {
  const text = await answer.text();
  return new Response(text.replace("<body", `<body ${attribute}`), { headers: answer.headers });
}

async function file(event) {
  try {
    const answer = await fetch(event.request);
    if (answer.ok) event.waitUntil(keepFile(event.request, answer.clone()));
    return answer;
  } catch {
    return (await caches.match(event.request)) ?? Response.error();
  }
}

async function keepFile(request, answer) {
  const cache = await caches.open(FILES);
  await cache.put(request, answer).catch(() => {}); // the storage is full: the page has the file all the same
}
