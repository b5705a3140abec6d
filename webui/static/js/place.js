// A list that is replaced under a person: what he looks at stays where it is on the screen.

/** A card that a fragment can lead to and that takes the focus then. */
export const CARD = '[id][tabindex="-1"]';

/**
 * Remember which cards are in view and which one has the focus; the answer goes back there. A card
 * that is gone by then is answered for by the next one that is left.
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
