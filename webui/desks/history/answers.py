"""Pages for questions about the whole history. Answers are shown as table, bars and CSV."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from cdc.contracts import history_requests as kinds
from ledger.requests.queries import Request, result_of, snapshot
from webui.accounts.roles import SEE_HISTORY, requires
from webui.desks.history.cards import card_of, newest_cards, runs_of
from webui.desks.history.views import known
from webui.desks.history.wording import answer_title, cell_text, is_number
from webui.shell.commands import query_text
from webui.shell.desk import Refusal
from webui.shell.page import render_page
from webui.shell.spreadsheet import safe_text

MOST_ROWS: Final = 200
BARS: Final = 30
FULL: Final = 100  # length of the longest bar
_MIDNIGHT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]00:00:00(\+00:00|Z)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of an answer's table, as text. Pages align cells with numbers at the right."""

    title: str
    text: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of an answer's chart: label, value as text, and length from 0 to 100."""

    label: str
    text: str
    length: int
    is_negative: bool


class _Echo:
    """A file for `csv.writer` whose `write` returns the line instead of storing it.

    So a response can stream CSV line by line.
    """

    def write(self, line: str) -> str:
        return line


@require_GET
@requires(SEE_HISTORY, company=True)
def questions(request: HttpRequest) -> HttpResponse:
    """Show the prepared questions, a field for an SQL statement, and the newest requests."""
    return show_questions(request, None)


def show_questions(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    """Show the page *Questions*. After a refusal, its fields have the typed texts."""
    found = snapshot()
    asked = newest_cards(request.user.get_username(), kinds.QUESTION, kinds.QUERY)
    context = {
        "view": "questions",
        "questions": [] if found is None else found.document.get("questions", []),
        "runs": [run for run in runs_of(found) if run.is_finished],
        "cards": asked,
        "is_open": any(card.request.is_open for card in asked),
        "command_id": uuid4(),
        "longest": kinds.LONGEST_STATEMENT,
        # Remove the typed texts from the refusal. Otherwise the page would list them a second time,
        # because the fields already show them.
        "refusal": refusal and replace(refusal, form={}),
        "typed": refusal.form if refusal else {},
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "history/questions.html", context, status=status)


@require_GET
@requires(SEE_HISTORY, company=True)
def answer(request: HttpRequest, number: int) -> HttpResponse:
    """Show the answer to a question or SQL statement: up to 200 rows, and bars of one column."""
    rows = _rows(number)
    columns = list(rows[0]) if rows else []
    numbers = [name for name in columns if any(is_number(row.get(name)) for row in rows)]
    wanted = query_text(request, "value", 80)
    shown = wanted if wanted in numbers else (numbers[-1] if numbers else "")
    labels, days = [name for name in columns if name not in numbers], _day_columns(columns, rows)
    asked = known(number)
    context = {
        "view": "questions",
        "card": card_of(asked, request.user.get_username()),
        "question": _question_of(asked),
        "columns": [(answer_title(name), name in numbers) for name in columns],
        "rows": [_cells(columns, row, days) for row in rows[:MOST_ROWS]],
        "total": len(rows),
        "most": MOST_ROWS,
        "numbers": [(name, answer_title(name)) for name in numbers],
        "shown": shown,
        "shown_title": answer_title(shown),
        "bars": _bars([_dated(row, days) for row in rows[:BARS]], labels, shown),
        "full": FULL,
    }
    return render_page(request, "history/answer.html", context)


@require_GET
@requires(SEE_HISTORY, company=True)
def answer_csv(_request: HttpRequest, number: int) -> HttpResponseBase:
    """Return every row of the answer to a question or SQL statement, as CSV."""
    rows = _rows(number)
    found = StreamingHttpResponse(_lines(rows), content_type="text/csv; charset=utf-8")
    found["Content-Disposition"] = f'attachment; filename="answer-{number}.csv"'
    found["Cache-Control"] = "no-store"
    return found


def _rows(number: int) -> Sequence[Mapping[str, Any]]:
    found = known(number)
    rows = result_of(number) if found.kind in (kinds.QUESTION, kinds.QUERY) else None
    if not isinstance(rows, list):
        message = f"Request {number} has no answer."
        raise Http404(message)
    return rows


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow([safe_text(name) for name in (rows[0] if rows else ())])
    for row in rows:
        yield writer.writerow([_csv_cell(cell) for cell in row.values()])


def _csv_cell(cell: Any) -> Any:  # noqa: ANN401 -- a JSON value
    if cell is None or is_number(cell):
        return cell
    return safe_text(", ".join(map(str, cell)) if isinstance(cell, list) else str(cell))


def _cells(columns: Sequence[str], row: Mapping[str, Any], days: frozenset[str]) -> list[Cell]:
    shown = _dated(row, days)
    return [
        Cell(answer_title(name), cell_text(name, shown.get(name)), is_number(shown.get(name)))
        for name in columns
    ]


def _question_of(asked: Request) -> str:
    """Return the text of the prepared question that the request `asked` names.

    If the prover has not listed the question, return its name.
    """
    name, found = asked.given.get("name", ""), snapshot()
    listed = [] if found is None else found.document.get("questions", [])
    return next((str(one["text"]) for one in listed if one["name"] == name), name)


def _day_columns(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the columns in which each value is a time at 00:00 UTC."""
    times = {name: [row[name] for row in rows if row.get(name) is not None] for name in columns}
    return frozenset(
        name
        for name, found in times.items()
        if found and all(isinstance(one, str) and _MIDNIGHT.fullmatch(one) for one in found)
    )


def _dated(row: Mapping[str, Any], days: frozenset[str]) -> dict[str, Any]:
    """Return the row with a date instead of a time in each column of `days`."""
    return {name: cell[:10] if name in days and cell else cell for name, cell in row.items()}


def _bars(rows: Sequence[Mapping[str, Any]], labels: Sequence[str], name: str) -> list[Bar]:
    """Return one bar per row for its value in the column `name`; the longest has length 100."""
    if not name:
        return []
    values = [row.get(name) or 0 for row in rows]
    longest = max((abs(value) for value in values), default=0) or 1
    return [
        Bar(
            " ".join(str(row.get(label)) for label in labels) or str(place),
            cell_text(name, row.get(name)),
            round(abs(value) * FULL / longest),
            value < 0,
        )
        for place, (row, value) in enumerate(zip(rows, values, strict=True), 1)
    ]
