"""Faults of a page's looks: accessibility by axe, sideways scrolling, targets lower than 44 px.

A page has two layouts, for desktops and for phones, and two colour schemes. 390 pixels is the width
of most phones. 320 is the width of a desktop at 400 % zoom, for WCAG's criterion Reflow. `make
soak` tests each layout in each scheme. `make test` runs axe on two of these four combinations.
"""

import os
from typing import Any, Final, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_TAGS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The dark scheme changes only colours, so only rules about colours are tested in it.
_OF_COLOURS: Final = ["color-contrast", "link-in-text-block"]
# Limit the result to violations. By default axe also describes every element without a violation.
_VIOLATIONS: Final = {"resultTypes": ["violations"]}
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "light": {"runOnly": {"type": "tag", "values": _TAGS}} | _VIOLATIONS,
    "dark": {"runOnly": {"type": "rule", "values": _OF_COLOURS}} | _VIOLATIONS,
}
LONG: Final = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SHAPES: Final[tuple[tuple[Literal["light", "dark"], int], ...]] = (
    ("light", 1280),
    ("dark", 390),
    *((("dark", 1280), ("light", 320)) if LONG else ()),
)
NARROW: Final = 320
_LOW: Final = """() => [...document.querySelectorAll("button, input, select, .button")]
    .filter(e => e.checkVisibility() && !["checkbox", "radio", "hidden"].includes(e.type))
    .filter(e => e.getBoundingClientRect().height < 44)
    .map(e => e.outerHTML.slice(0, 80))"""


def faults_of(page: Page, *, opened: bool = False) -> list[str]:
    """Return the faults of the current page. With `opened`, first expand its closed parts."""
    if opened:
        for summary in page.locator("summary:visible").all():
            summary.click()
    faults: list[str] = []
    for scheme, width in SHAPES:
        page.emulate_media(color_scheme=scheme)
        faults += _overflow(page, width)
        found = _axe_of(page).run(page, options=_OPTIONS[scheme])
        here = f"{page.url} at {width}, {scheme}"
        faults += [f"{here}: {found.generate_report()}"] * bool(found.violations_count)
    faults += _overflow(page, NARROW)
    return faults + [f"{page.url}: {text} is low" for text in page.evaluate(_LOW)]


def _axe_of(page: Page) -> Axe:
    """Return axe for this page, without its script of 550 kB if the page has loaded it before."""
    return Axe("0") if page.evaluate("() => 'axe' in window") else Axe()


def _overflow(page: Page, width: int) -> list[str]:
    """Set the window's width. Return a fault if the page scrolls sideways at this width."""
    page.set_viewport_size({"width": width, "height": 844})
    # Scroll to the top: on a scrolled page, axe reports targets half under the header as too small.
    page.evaluate("() => scrollTo(0, 0)")
    is_wider = page.evaluate("() => document.documentElement.scrollWidth") > width
    return [f"{page.url} at {width}: scrolls sideways"] * is_wider
