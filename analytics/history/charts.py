"""Bars for notebooks, as SVG: a notebook shows them without a library for charts.

Matplotlib can't be used: it needs Pillow, whose licence this project doesn't allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

_ROW: Final = 20  # all lengths are pixels
_LABELS: Final = 170
_BARS: Final = 360
_VALUES: Final = 110
_TOP: Final = 26


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar per row, from zero to the right: blue, or orange for a negative value."""

    title: str
    rows: tuple[tuple[str, int], ...]

    def _repr_svg_(self) -> str:
        """Return the chart as SVG text. Jupyter calls this method to show the object."""
        width = _LABELS + _BARS + _VALUES
        height = _TOP + _ROW * len(self.rows)
        longest = max((abs(value) for _label, value in self.rows), default=0) or 1
        lines = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
                ' font-family="sans-serif" font-size="12">'
            ),
            f'<text x="0" y="14" font-weight="bold">{escape(self.title)}</text>',
        ]
        for number, (label, value) in enumerate(self.rows):
            lines += _bar(_TOP + _ROW * number, label, value, abs(value) * _BARS // longest)
        return "\n".join([*lines, "</svg>"])


def bars(title: str, rows: Sequence[Mapping[str, Any]], value: str, *labels: str) -> Bars:
    """Return a chart of column `value`, labelled with the columns `labels`; null counts as 0."""
    return Bars(
        title,
        tuple((" ".join(str(row[name]) for name in labels), int(row[value] or 0)) for row in rows),
    )


def _bar(top: int, label: str, value: int, length: int) -> list[str]:
    colour = "#2b6cb0" if value >= 0 else "#c05621"
    middle = top + _ROW - 6
    return [
        f'<text x="{_LABELS - 6}" y="{middle}" text-anchor="end">{escape(label)}</text>',
        f'<rect x="{_LABELS}" y="{top + 3}" width="{length}" height="{_ROW - 6}" fill="{colour}"/>',
        f'<text x="{_LABELS + length + 5}" y="{middle}">{value:,}</text>',
    ]
