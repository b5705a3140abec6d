// Replace a part of this page by the same part of a freshly fetched one.

/** Header of requests that a script repeats. The server doesn't count them as use of the session. */
export const POLL = { "X-Poll": "1" };

/**
 * Replace the element `selector` by the same element of the page `url`. Also replace the elements whose
 * `data-beside` is the id of this element, such as its tabs and totals. Return false if the request
 * failed, or if `wanted` returns false after the response. `wanted` returns false, for example, if a
 * person has begun to work in the element. Pass `POLL` as `headers` if a script repeats the request.
 */
export async function swap(url, selector, wanted = () => true, headers = {}) {
  const here = document.querySelector(selector);
  if (!here) return false;
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html", ...headers }, credentials: "same-origin" });
    // A redirect to the login page means that the session has ended.
    if (answer.redirected && new URL(answer.url).pathname.startsWith("/login")) {
      location.assign(answer.url);
      return false;
    }
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const there = page.querySelector(selector);
    if (!there || !here.isConnected || !wanted(here)) return false;
    here.replaceWith(document.adoptNode(there));
    replaceBeside(there.id, page);
    return true;
  } catch {
    return false; // offline: the pill shows it, and the next change retries
  }
}

function replaceBeside(id, page) {
  for (const old of document.querySelectorAll(`[data-beside="${id}"]`)) {
    const fresh = page.getElementById(old.id);
    if (fresh && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(fresh));
  }
}

const QUIET_MS = 10_000;

let spokenAt = -Infinity;
let speaking = 0;

/** Announce a sentence to screen readers, at most one every 10 s. Of several sentences, announce the newest. */
export function say(sentence) {
  const line = document.getElementById("polite");
  if (!line) return;
  clearTimeout(speaking);
  const speak = () => {
    spokenAt = performance.now();
    line.textContent = sentence;
  };
  speaking = setTimeout(speak, Math.max(0, spokenAt + QUIET_MS - performance.now()));
}
