"""A person's input on a page, by mouse, by keyboard alone or with a finger. Each press counts.

Typed text doesn't count, and neither does Tab up to a limit. A choice in a list costs two presses,
because the first one opens the list. With the keyboard it costs none: the person types its name.
"""

from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Locator, Page, expect

MOUSE: Final = "mouse"
KEYBOARD: Final = "keyboard"
PHONE: Final = "phone"
_DESKTOP: Final[dict[str, Any]] = {"viewport": {"width": 1280, "height": 900}}
WINDOWS: Final[dict[str, dict[str, Any]]] = {
    MOUSE: _DESKTOP,
    KEYBOARD: _DESKTOP,
    PHONE: {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
# Time for which a person holds a letter. Faster ones could come from a scanner: pages ignore some.
HELD_MS: Final = 150
# Largest number of presses of Tab that a person accepts to reach a control.
MOST_TABS: Final = 50
_IS_FOCUSED: Final = "e => e === document.activeElement"
# Key that moves the focus towards this control, or "" if it has the focus. On the first link of a
# page, it is Enter, which skips the navigation.
_NEXT_KEY: Final = """e => { const at = document.activeElement;
    if (at === e) return "";
    if (at.matches("a.skip") && e.closest("main")) return "Enter";
    const isBehind = at.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
    return isBehind ? "Tab" : "Shift+Tab"; }"""
_IS_TICKED_BY_SPACE: Final = "e => e.matches('input[type=checkbox], [role=button]')"
_CHOSEN: Final = "e => e.selectedOptions[0].label"
# Text of the element that covers the middle of this one, or an empty text.
COVERED: Final = """e => { const box = e.getBoundingClientRect();
    const hit = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return !hit ? "outside" : e.contains(hit) || hit.contains(e) ? "" : hit.outerHTML; }"""


# No slots: playwright keeps its wrappers of bound handlers on the object.
@dataclass
class Hand:
    """A hand on a page. `presses` counts its clicks, taps, and presses of Enter or Space."""

    page: Page
    by: str
    presses: int = 0

    def press(self, control: Locator) -> None:
        """Click or tap the control, or focus it by Tab and press Enter or Space."""
        expect(control).to_be_visible()
        if self.by == KEYBOARD:
            self.reach(control)
            self.key("Space" if control.evaluate(_IS_TICKED_BY_SPACE) else "Enter")
            return
        self.presses += 1
        if self.by == PHONE:
            control.tap()
        else:
            control.click()

    def key(self, key: str) -> None:
        """Press one key that counts."""
        self.presses += 1
        self.page.keyboard.press(key, delay=HELD_MS if len(key) == 1 else 0)

    def fill(self, field: Locator, text: str) -> None:
        """Type into a field. If it isn't focused, click or tap it first, or reach it by Tab."""
        expect(field).to_be_visible()
        if not field.evaluate(_IS_FOCUSED):
            if self.by == KEYBOARD:
                self.reach(field)
            else:
                self.press(field)
        self.page.keyboard.type(text)

    def choose(self, field: Locator, label: str, *, submits: bool = False) -> None:
        """Choose an option by the beginning of its label; `submits` ends the choice with Enter."""
        expect(field).to_be_visible()
        if self.by != KEYBOARD:
            self.presses += 2
            option = field.locator("option").filter(has_text=label).first
            field.select_option(option.get_attribute("value"))
            return
        self.reach(field)
        self.page.keyboard.type(label)
        chosen = str(field.evaluate(_CHOSEN))
        assert chosen.casefold().startswith(label.casefold()), chosen
        if submits:
            self.page.keyboard.press("Enter")

    def reach(self, control: Locator) -> None:
        """Move the focus to the control by Tab, or by Shift+Tab if it is before the focus."""
        for _ in range(MOST_TABS):
            key = str(control.evaluate(_NEXT_KEY))
            if not key:
                return
            self.page.keyboard.press(key)
        message = f"{MOST_TABS} presses of Tab don't reach {control}"
        raise AssertionError(message)

    def open_desk(self, name: str) -> None:
        """Open a desk from the navigation, on a phone from its bar or menu."""
        desks = self.page.get_by_role("navigation", name="Desks")
        bar = self.page.get_by_role("navigation", name="Most used")
        link = (bar if self.by == PHONE else desks).get_by_role("link", name=name, exact=True)
        if self.by == PHONE and not link.count():
            self.press(bar.get_by_role("button", name="More"))
            link = desks.get_by_role("link", name=name, exact=True)
        self.press(link)
        expect(self.page.get_by_role("heading", level=1).first).to_be_attached()
