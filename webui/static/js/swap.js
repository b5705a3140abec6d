// Fetch a page of our own and put one part of it in place of ours.

/**
 * Replace `selector` by the same element of `url`; false when that could not be had, or was not
 * `wanted` any more when it came: a person may have begun to work in it meanwhile.
 */
export async function swap(url, selector, wanted = () => true) {
  const here = document.querySelector(selector);
  if (!here) return false;
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    // A login page instead of ours means that the session has ended.
    if (answer.redirected && new URL(answer.url).pathname.startsWith("/login")) {
      location.assign(answer.url);
      return false;
    }
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const there = page.querySelector(selector);
    if (!there || !here.isConnected || !wanted(here)) return false;
    here.replaceWith(document.adoptNode(there));
    return true;
  } catch {
    return false; // offline: the pill says so, and the next change tries again
  }
}

let spokenAt = -Infinity;

/** One polite sentence for screen readers, at most one in ten seconds. */
export function say(sentence) {
  const line = document.getElementById("polite");
  const now = performance.now();
  if (!line || now - spokenAt < 10_000) return;
  spokenAt = now;
  line.textContent = sentence;
}
