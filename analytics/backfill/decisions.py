"""Are the proposals in Postgres exactly the decisions that a fresh fold of the log gives?

A proposal names the record that its newest revision comes from. One that comes from behind the end
of the recomputed history is newer than the comparison and is judged by what it was before only as
far as that shows: its id may be new, its revision may not be lower.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics.engines.results import OUTPUTS, read_rows
from analytics.engines.unit import ManifestRow
from analytics.verification.barrier import Barrier, NotCaughtUp
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder
from cdc.settings import Connections

MISSING: Final = "no proposal"
EXTRA: Final = "a proposal that no decision explains"
LOWER: Final = "a lower revision than the decision's"
OTHER: Final = "another status than the decision's"
TIMEOUT_S: Final = 120.0
_PROPOSALS: Final = """
SELECT reorder_id, revision, status, position FROM app.reorder_proposal
UNION ALL SELECT proposal_id, revision, status, position FROM app.price_proposal
"""
# A newer need of the key closes an older proposal in Postgres before the fold's word arrives.
_CLOSED: Final = frozenset({"superseded", "cancelled"})


@dataclass(frozen=True, slots=True)
class Said:
    """The newest revision of a decision or of a proposal, and the record it comes from."""

    revision: int
    status: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many ids were compared, and every difference."""

    compared: int
    differing: tuple[dict[str, Any], ...]
    behind: dict[str, Any] | None = None

    @property
    def ok(self) -> bool:
        """None missing, none extra, none with a lower revision."""
        return not self.differing and self.behind is None


def compare_decisions(
    settings: Connections, rows: Iterable[ManifestRow], ends: Mapping[int, int]
) -> Decisions:
    """Hold proposals against a finished recomputation up to `ends`."""
    decided = newest(event for row in rows for event in _events(row))
    url = settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            # The workers are past `ends`; now the actuator is too.
            Barrier(settings, connection, TIMEOUT_S).pass_now()
        except NotCaughtUp as problem:
            return Decisions(0, (), problem.behind)
        proposed = {
            row[0]: Said(row[1], row[2], int(row[3]["partition"]), int(row[3]["offset"]))
            for row in connection.execute(_PROPOSALS)
        }
    return Decisions(len({*decided, *proposed}), tuple(differences(decided, proposed, ends)))


def newest(events: Iterable[tuple[str, Said]]) -> dict[str, Said]:
    """The highest revision of each id."""
    found: dict[str, Said] = {}
    for identity, said in events:
        if identity not in found or said.revision > found[identity].revision:
            found[identity] = said
    return found


def differences(
    decided: Mapping[str, Said], proposed: Mapping[str, Said], ends: Mapping[int, int]
) -> Iterable[dict[str, Any]]:
    """Every id of which the fold and Postgres do not say the same, with both sides."""
    for identity in sorted({*decided, *proposed}):
        fresh, shown = decided.get(identity), proposed.get(identity)
        rule = _broken(fresh, shown, ends)
        if rule is not None:
            yield {
                "id": identity,
                "rule": rule,
                "decision": None if fresh is None else f"{fresh.revision} {fresh.status}",
                "proposal": None if shown is None else f"{shown.revision} {shown.status}",
            }


def _broken(fresh: Said | None, shown: Said | None, ends: Mapping[int, int]) -> str | None:
    if shown is None:
        return MISSING
    is_newer = shown.offset >= ends.get(shown.partition, 0)
    if fresh is None:
        return None if is_newer else EXTRA
    if shown.revision < fresh.revision:
        return LOWER
    if is_newer:
        return None
    if shown.revision > fresh.revision:
        return EXTRA
    is_same = shown.status == fresh.status or {shown.status, fresh.status} <= _CLOSED
    return None if is_same else OTHER


def _events(row: ManifestRow) -> Iterable[tuple[str, Said]]:
    """Decisions of one unit of the recomputation."""
    for _key, offset, content in read_rows(row, OUTPUTS):
        try:
            event: Any = decode_reorder(content)
        except NotADecision:
            event = decode_price(content)
        output = event.output
        yield (
            str(output.id),
            Said(output.revision, output.status, event.at.origin.partition, offset),
        )
