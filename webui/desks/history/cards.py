"""Cards of requests to the prover, the process that recomputes history at a person's request.

A card has title, state and command of the request, and a link to the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from django.urls import reverse

from cdc.contracts import history_requests as kinds
from ledger.requests import queries
from ledger.requests.queries import Request, Snapshot, newest_requests
from webui.desks.history.wording import KINDS, command_text

MOST_SHOWN: Final = 15
# CSS class of a request's flag, by state.
_FLAGS: Final[Mapping[str, str]] = {
    queries.DONE: "good",
    queries.FAILED: "bad",
    queries.TO_CONFIRM: "wait",
    queries.RUNNING: "now",
}
_RESULT_PAGES: Final[Mapping[str, str]] = {
    kinds.COMPARE: "history-difference",
    kinds.QUESTION: "history-answer",
    kinds.QUERY: "history-answer",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One request with its texts.

    `about` lists short arguments, `command` is the command line, and `flag` a CSS class. A form
    that confirms or cancels the request sends `command_id`.
    """

    request: Request
    title: str
    about: str
    command: str
    flag: str
    url: str
    command_id: UUID


@dataclass(frozen=True, slots=True)
class Run:
    """One run (recomputation of history) as the prover listed it.

    A run consists of units, one per task. `percent` is the share of finished units.
    """

    run: str
    logic_revision: int | None
    engine: str
    percent: int
    is_finished: bool
    problem: str
    records: int | None
    keys: int | None
    seconds: float | None
    digest: str
    base: str

    @property
    def is_comparable(self) -> bool:
        """Return True if the run is finished, has no problem, and started at the first record."""
        return self.is_finished and not self.base and not self.problem


def card_of(found: Request, actor: str) -> Card:
    """Return the request as a card for a page of the person `actor`."""
    given = found.given
    # Leave out long arguments: the command below the title shows them.
    about = ", ".join(text for name, text in given.items() if name not in _LONG)
    page = _RESULT_PAGES.get(found.kind, "history-request")
    target = page if found.has_result and found.state == queries.DONE else "history-request"
    return Card(
        request=found,
        title=KINDS[found.kind],
        about=about,
        command=command_text(found.kind, given, actor),
        flag=_FLAGS.get(found.state, ""),
        url=reverse(target, args=[found.id]),
        command_id=uuid4(),
    )


_LONG: Final = frozenset({"statement", "approval"})


def newest_cards(actor: str, *chosen: str, most: int = MOST_SHOWN) -> list[Card]:
    """Return the newest requests of the kinds `chosen` as cards.

    Without `chosen`, return requests of all kinds except explanations of keys.
    """
    wanted = [*chosen] or [kind for kind in KINDS if kind != kinds.EXPLAIN]
    return [card_of(one, actor) for one in newest_requests(wanted, most)]


def runs_of(found: Snapshot | None) -> list[Run]:
    """Return the runs that the prover listed, newest first; an empty list if `found` is None."""
    return [] if found is None else [_run_of(one) for one in found.document.get("runs", [])]


def chosen_runs(runs: Sequence[Run], deciding: int | None) -> dict[str, str]:
    """Return the names of the two runs to preselect for a comparison: {"a": name, "b": name}.

    `deciding` is the logic revision whose decisions people see. B is the newest comparable run of a
    higher revision. A is the newest comparable run of `deciding` with as many records as B. If
    there is none, A is the newest comparable run of `deciding`. A name is empty if no run fits.
    """
    fit = [one for one in runs if one.is_comparable and one.logic_revision is not None]
    ours = [one for one in fit if one.logic_revision == deciding]
    newer = (one for one in fit if deciding is not None and (one.logic_revision or 0) > deciding)
    b = next(newer, None)
    same = [one for one in ours if b is not None and one.records == b.records]
    a = next(iter(same or ours), None)
    return {"a": a.run if a else "", "b": b.run if b else ""}


def present_run(
    runs: Sequence[Run], deciding: int | None, *, like: str, records: int | None
) -> str:
    """Return the name of the newest comparable run of `deciding` that has `records` records.

    `deciding` is a logic revision. Skip the run `like`, with which the result is to be compared. If
    no other run fits, return `live`, because the live state can be compared with every run.
    """
    fit = (
        one.run
        for one in runs
        if one.is_comparable and one.run != like and one.records == records
        if one.logic_revision is not None and one.logic_revision == deciding
    )
    return next(fit, kinds.LIVE)


def _run_of(run: Mapping[str, Any]) -> Run:
    units, done = run.get("units") or 0, run.get("units_finished") or 0
    return Run(
        run=str(run["run"]),
        logic_revision=run.get("logic_revision"),
        engine=run.get("engine") or "",
        percent=100 * done // units if units else 0,
        is_finished=bool(run.get("finished")),
        problem=run.get("problem") or "",
        records=run.get("records"),
        keys=run.get("keys"),
        seconds=run.get("seconds"),
        digest=run.get("digest") or "",
        base=run.get("base") or "",
    )
