// Scroll position and focus of a list that is replaced while a person looks at it.

/** Selector of cards that a URL fragment can address and that can take the focus. */
export const CARD = '[id][tabindex="-1"]';

/**
 * Return a function that restores the scroll position and the focused card after the list was
 * replaced. If the card is gone by then, the function uses the next card that is still there.
 */
export function keepPlace(list) {
  const cards = [...list.querySelectorAll(CARD)];
  const focused = cards.indexOf(document.activeElement);
  const inView = cards.findIndex((card) => card.getBoundingClientRect().bottom > 0);
  const from = focused < 0 ? inView : focused;
  const ids = cards.map((card) => card.id);
  const tops = cards.map((card) => card.getBoundingClientRect().top);
  const isScrolled = scrollY > 0;
  return () => {
    const at = ids.findIndex((id, index) => index >= from && document.getElementById(id));
    if (from < 0 || at < 0) return;
    const card = document.getElementById(ids[at]);
    const moved = card.getBoundingClientRect().top - tops[at];
    if (isScrolled) scrollBy({ top: moved, behavior: "instant" });
    if (focused >= 0) card.focus({ preventScroll: true });
  };
}
