"""Bar charts as SVG with integer coordinates, which need no script."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from inventory.model.arithmetic import ceil_div
from webui.readmodel.explain import Window
from webui.readmodel.figures import time_text

WIDTH, HEIGHT, GAP = 10, 48, 2
SMALL_WIDTH, SMALL_HEIGHT, SMALL_GAP, BASELINE = 2, 15, 1, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One window's bar, in SVG units."""

    x: int
    y: int
    height: int
    title: str


def bars(windows: Sequence[Window]) -> list[Bar]:
    """Return one bar per window with its sold units, scaled to the highest bar."""
    highest = max((window.sold_units for window in windows), default=0) or 1
    return [
        Bar(
            x=index * (WIDTH + GAP),
            y=HEIGHT - _height(window, highest),
            height=_height(window, highest),
            title=gettext("%(start_us)s: %(sold_units)s sold")
            % {"start_us": time_text(window.start_us), "sold_units": window.sold_units},
        )
        for index, window in enumerate(windows)
    ]


def small_bars(units: Sequence[int]) -> str:
    """Return one bar per number, and a baseline, as one SVG path for a row of a list.

    One path keeps the page small.
    """
    highest = max(units, default=0) or 1
    step = SMALL_WIDTH + SMALL_GAP
    baseline = f"M0 {SMALL_HEIGHT}h{step * len(units) - SMALL_GAP}v{BASELINE}H0z"
    bars = (
        f"M{place * step} {SMALL_HEIGHT}v-{ceil_div(SMALL_HEIGHT * sold, highest)}h{SMALL_WIDTH}"
        f"V{SMALL_HEIGHT}z"
        for place, sold in enumerate(units)
        if sold
    )
    return baseline + "".join(bars)


def _height(window: Window, highest: int) -> int:
    return max(1, HEIGHT * window.sold_units // highest)
