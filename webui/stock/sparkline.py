"""A row of bars as SVG geometry: integers in, integers out, no script."""

from collections.abc import Sequence
from dataclasses import dataclass

from webui.readmodel.explain_selectors import Window
from webui.readmodel.figures import time_text

WIDTH, HEIGHT, GAP = 10, 48, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One window's bar."""

    x: int
    y: int
    height: int
    title: str


def bars(windows: Sequence[Window]) -> list[Bar]:
    """Units sold per window, scaled to the highest."""
    highest = max((window.sold_units for window in windows), default=0) or 1
    return [
        Bar(
            x=index * (WIDTH + GAP),
            y=HEIGHT - _height(window, highest),
            height=_height(window, highest),
            title=f"{time_text(window.start_us)}: {window.sold_units} sold",
        )
        for index, window in enumerate(windows)
    ]


def _height(window: Window, highest: int) -> int:
    return max(1, HEIGHT * window.sold_units // highest)
