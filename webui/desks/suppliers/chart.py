"""A histogram of lead times with one bar per day, as SVG with integer coordinates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

WIDTH, HEIGHT, GAP = 16, 80, 3
DAYS_SHOWN: Final = 30
CENTIDAYS_A_DAY: Final = 100


@dataclass(frozen=True, slots=True)
class Bar:
    """The number of receipts whose lead time has a certain number of full days, for example 3.

    The last bar may also have all receipts with longer lead times. `x`, `y` and `height` are in SVG
    units.
    """

    label: str
    receipts: int
    x: int
    y: int
    height: int


def distribution(centidays: Sequence[int]) -> list[Bar]:
    """Return one bar for each number of full days, from 0 to the longest lead time in `centidays`.

    The last possible bar is the one for 30 days or more. Without lead times, there is no bar.
    """
    days = Counter(max(0, one) // CENTIDAYS_A_DAY for one in centidays)
    if not days:
        return []
    longest = min(max(days), DAYS_SHOWN)
    found = [days[day] for day in range(longest)]
    found.append(sum(count for day, count in days.items() if day >= longest))
    highest = max(found)
    is_open = max(days) > longest
    return [
        Bar(
            label=gettext("%(day)s d or more") % {"day": day}
            if is_open and day == longest
            else gettext("%(day)s to %(day_2)s d") % {"day": day, "day_2": day + 1},
            receipts=count,
            x=day * (WIDTH + GAP),
            y=HEIGHT - _height(count, highest),
            height=_height(count, highest),
        )
        for day, count in enumerate(found)
    ]


def _height(count: int, highest: int) -> int:
    return 0 if count == 0 else max(2, HEIGHT * count // highest)


def width(bars: Sequence[Bar]) -> int:
    """Return the width of the chart in SVG units."""
    return max(1, len(bars)) * (WIDTH + GAP)
