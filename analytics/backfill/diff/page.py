"""The difference as one HTML file: totals, groups with bars, and the largest differences.

The page loads nothing: no script, font, image or link. Its Content-Security-Policy forbids the
browser to load anything. Names of stores, suppliers and items are escaped, because people type
them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from analytics.backfill.diff.comparison import Diff
from analytics.backfill.diff.revised import KINDS, PRICE
from analytics.backfill.diff.scratch import DIMENSIONS
from analytics.backfill.diff.sides import Sides
from analytics.backfill.diff.wording import (
    CLASS_TEXTS,
    COUNT_COLUMNS,
    GROUP_COLUMNS,
    KIND_TITLES,
    TEXT_COLUMNS,
    TOTAL_COLUMNS,
    count_rows,
    group_cells,
    hidden_text,
    row_cells,
    row_columns,
    total_rows,
)

MOST_ROWS: Final = 500  # of each kind; more would make a page of many megabytes
_MOST_GROUPS: Final = 50
_FULL_BAR: Final = 100  # pixels
_HEAD: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem;
  color: #1d2733; background: #fff; }}
table {{ border-collapse: collapse; margin: .5rem 0 1.5rem; }}
th, td {{ border-bottom: 1px solid #d5dbe1; padding: .25rem .6rem; text-align: left;
  white-space: nowrap; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.bar {{ display: inline-block; height: .7rem; background: #2b6cb0; }}
.less {{ background: #b7791f; }}
.scroll {{ overflow-x: auto; }}
code {{ overflow-wrap: anywhere; }}
</style></head><body>
"""


def write_page(found: Diff[Sides], path: Path) -> Path:
    """Write the page to `path`, in place of an earlier file. Return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.writelines(_parts(found))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # don't keep an incomplete file on a full disk
        raise
    return path


def _parts(found: Diff[Sides]) -> Iterator[str]:
    runs = f"{found.runs.a.name} and {found.runs.b.name}"
    title = escape(f"Difference of {runs}")
    yield _HEAD.format(title=title)
    yield f"<h1>{title}</h1>\n"
    result = "The decisions are equal." if found.is_equal else "The decisions differ."
    yield f"<p>{result} Digest <code>{escape(found.digest)}</code>.</p>\n"
    yield from map(_note, found.runs.notes())
    yield _table(TOTAL_COLUMNS, total_rows(found))
    yield _table(COUNT_COLUMNS, count_rows(found))
    for kind in KINDS:
        if found.count(kind):
            yield from _kind(found, kind)
    yield "<h2>Classes</h2>\n" + _table(("class", "meaning"), list(CLASS_TEXTS.items()))
    yield "</body></html>\n"


def _kind(found: Diff[Sides], kind: str) -> Iterator[str]:
    yield f"<h2>{KIND_TITLES[kind]}</h2>\n"
    for dimension in DIMENSIONS:
        if kind == PRICE and dimension == "supplier":
            continue  # prices have no supplier
        yield f"<h3>By {dimension}</h3>\n"
        yield from _groups([row for row in found.groups if _is_of(row, kind, dimension)])
    yield "<h3>Largest differences</h3>\n"
    rows = found.scratch.ranked(kind, limit=MOST_ROWS)
    yield _table(row_columns(kind), (row_cells(kind, row) for row in rows))
    hidden = found.count(kind) - MOST_ROWS
    yield _note(hidden_text(hidden, "`--out` writes all of them"))


def _is_of(row: Mapping[str, Any], kind: str, dimension: str) -> bool:
    return (row["kind"], row["dimension"]) == (kind, dimension)


def _groups(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table with a bar per group, scaled to the largest money difference of all."""
    largest = max((abs(row["delta_minor"]) for row in groups), default=0)
    shown = groups[:_MOST_GROUPS]
    lines = [(*map(escape, group_cells(row)), _bar(row["delta_minor"], largest)) for row in shown]
    yield _raw_table((*GROUP_COLUMNS, ""), lines)
    yield _note(hidden_text(len(groups) - _MOST_GROUPS, "`--out` writes all of them"))


def _bar(minor: int, largest: int) -> str:
    pixels = abs(minor) * _FULL_BAR // largest if largest else 0
    less = " less" if minor < 0 else ""
    return f'<span class="bar{less}" style="width:{pixels}px"></span>'


def _note(text: str) -> str:
    return f"<p>{escape(text)}</p>\n" if text else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return _raw_table(columns, ([escape(cell) for cell in row] for row in rows))


def _raw_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. The cells of `rows` are HTML already."""
    marks = ["" if column in TEXT_COLUMNS else ' class="n"' for column in columns]
    named = zip(columns, marks, strict=True)
    head = "".join(f"<th{mark}>{escape(column)}</th>" for column, mark in named)
    lines = [
        "".join(f"<td{mark}>{cell}</td>" for cell, mark in zip(row, marks, strict=True))
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="scroll"><table><tr>{head}</tr>\n{body}</table></div>\n'
