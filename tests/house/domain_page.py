"""Parser of docs/domain.md: its tables with their rows, and the rulings of section 11.

A row's name is its section, its table if the section has several, and the plain first cell, like
`5.2 quantity Q7; Q8; Q9 threshold 500 ‰` or `2.2 c`. Cells of the state machine and rulings are
rows too: `5.3 cell open × answered`, `11.5 Zero row`.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from deploy.stack.home import PROJECT

PAGE = PROJECT / "docs" / "domain.md"

# Names of tables by section and first heading; an empty name is for the only table of a section.
NAMES: dict[tuple[str, str], str] = {
    ("0", "half_even(5,2)"): "divisions",
    ("1", "term"): "",
    ("2.2", "op"): "",
    ("2.3", "image"): "",
    ("2.4", "# in log order"): "count rule",
    ("2.4", "start: count 5, allocated 2 →"): "effects",
    ("2.6", "table"): "",
    ("3.2", "window is"): "window",
    ("3.2", "#"): "windows",
    ("3.3", "N = 72, EWMA: sold, out →"): "demand",
    ("4", "kind"): "",
    ("5.1", "family"): "family",
    ("5.1", "levels vector"): "levels",
    ("5.2", "quantity vector"): "quantity",
    ("5.3", "state"): "cell",
    ("5.3", "s 20, S 60, pack 6, h 2"): "episode",
    ("6.1", "signal"): "",
    ("6.2", "vector"): "price",
    ("6.5", "vector"): "",
    ("7", "state"): "",
    ("7", "scorecard"): "scorecard",
    ("8", "task"): "",
    ("8", "phantom suspect at 2 a day, N 72"): "phantom",
    ("9", "law"): "",
    ("10", "case"): "",
}


class Table(NamedTuple):
    """One table of the page, cells without surrounding blanks."""

    section: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Return the name in `NAMES`. Fail for a table without a name."""
        place = (self.section, plain(self.heading[0]))
        if place not in NAMES:
            problem = f"docs/domain.md {place}: a new table needs a name in {__name__}.NAMES"
            raise AssertionError(problem)
        return " ".join(part for part in (self.section, NAMES[place]) if part)


def plain(cell: str) -> str:
    """Return the cell without backticks, stars and escapes."""
    return cell.replace("`", "").replace("**", "").replace("\\|", "|").strip()


@cache
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


@cache
def tables() -> tuple[Table, ...]:
    return tuple(_tables(text()))


def table(name: str) -> Table:
    return next(found for found in tables() if found.name == name)


def _tables(page: str) -> Iterator[Table]:
    section, lines = "", [*page.splitlines(), ""]
    rows: list[tuple[str, ...]] = []
    for line in lines:
        heading = re.match(r"#+ (\d+(?:\.\d+)?)\.? ", line)
        section = heading[1] if heading else section
        if line.startswith("|"):
            rows.append(_cells(line))
        elif rows:
            yield Table(section, rows[0], tuple(rows[2:]))
            rows = []


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])


def rulings() -> list[str]:
    """Return the names of the rulings of section 11: section and leading words."""
    found, section = [], ""
    for line in text().splitlines():
        heading = re.match(r"### (11\.\d+) ", line)
        section = heading[1] if heading else section
        lead = re.match(r"- \*\*(.+?)\.\*\* ", line)
        if lead and section:
            found.append(f"{section} {lead[1]}")
    return found


def row_names() -> list[str]:
    """Return the names that tests must mark. Cases of section 10 have their own numbers."""
    names = []
    for found in tables():
        for row in found.rows:
            if found.name == "5.3 cell":
                names += [f"5.3 cell {row[0]} × {column}" for column in found.heading[1:]]
            elif found.name != "10":
                names.append(f"{found.name} {plain(row[0])}")
    return [*names, *rulings()]


def tracker_numbers() -> list[str]:
    """Return the cases of section 10 as parts of a test's name: `odoo_pr_33798`."""
    cases = " ".join(row[0] for row in table("10").rows)
    named = re.findall(r"[\w/-]+(?: PR| documentation)?#\d+|Oracle Support \d+", cases)
    return [re.sub(r"[^a-z0-9]+", "_", one.lower()) for one in named]


if __name__ == "__main__":
    sys.stdout.write("\n".join([*row_names(), *tracker_numbers(), ""]))
