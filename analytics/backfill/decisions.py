"""Proposals in Postgres against the decisions that a fresh fold of the log gives.

A proposal names the record that its newest revision comes from. One that comes from behind the end
of the recomputed history is newer than the comparison and is judged by what it was before only as
far as that shows: its id may be new, its revision may not be lower.

Only the logic revision that decides makes proposals (`analytics.backfill.reign`). Of a decision
that was closed while another one decided, a proposal may be missing or may have stayed at the
revision at which a switch closed it. Proposals of other revisions are counted; this code can't
judge them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics.backfill.reign import STANDING, Reign, read_reign
from analytics.engines.results import OUTPUTS, read_rows
from analytics.engines.unit import ManifestRow
from analytics.verification.barrier import Barrier, NotCaughtUp
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

MISSING: Final = "no proposal"
EXTRA: Final = "a proposal that no decision explains"
LOWER: Final = "a lower revision than the decision's"
OTHER: Final = "another status than the decision's"
OTHER_RULES: Final = "a proposal of other rules in place of the decision's"
TIMEOUT_S: Final = 120.0
_PROPOSALS: Final = """
SELECT reorder_id, revision, status, position, logic_revision FROM app.reorder_proposal
UNION ALL
SELECT proposal_id, revision, status, position, logic_revision FROM app.price_proposal
"""
# A newer need of the key closes an older proposal in Postgres before the fold's word arrives.
_CLOSED: Final = frozenset({"superseded", "cancelled"})


@dataclass(frozen=True, slots=True)
class Said:
    """The newest revision of a decision or of a proposal, and the record it comes from.

    `commit_us` is that of the record; a proposal doesn't keep it.
    """

    revision: int
    status: str
    partition: int
    offset: int
    commit_us: int = 0
    logic_revision: int = LOGIC_REVISION


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many ids were compared, and every difference; `others` are of other revisions."""

    compared: int
    differing: tuple[dict[str, Any], ...]
    behind: dict[str, Any] | None = None
    others: int = 0
    decides: int = LOGIC_REVISION

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
            row[0]: Said(
                row[1],
                row[2],
                int(row[3]["partition"]),
                int(row[3]["offset"]),
                logic_revision=row[4],
            )
            for row in connection.execute(_PROPOSALS)
        }
        reign = read_reign(connection, settings)
    return Decisions(
        compared=len({*decided, *proposed}),
        differing=tuple(differences(decided, proposed, ends, reign)),
        others=sum(said.logic_revision != LOGIC_REVISION for said in proposed.values()),
        decides=reign.revision,
    )


def newest(events: Iterable[tuple[str, Said]]) -> dict[str, Said]:
    """The highest revision of each id."""
    found: dict[str, Said] = {}
    for identity, said in events:
        if identity not in found or said.revision > found[identity].revision:
            found[identity] = said
    return found


def differences(
    decided: Mapping[str, Said],
    proposed: Mapping[str, Said],
    ends: Mapping[int, int],
    reign: Reign | None = None,
) -> Iterable[dict[str, Any]]:
    """Every id of which the fold and Postgres do not say the same, with both sides."""
    for identity in sorted({*decided, *proposed}):
        fresh, shown = decided.get(identity), proposed.get(identity)
        rule = _broken(fresh, shown, ends, reign or Reign())
        if rule is not None:
            yield {
                "id": identity,
                "rule": rule,
                "decision": None if fresh is None else f"{fresh.revision} {fresh.status}",
                "proposal": None if shown is None else f"{shown.revision} {shown.status}",
            }


def _broken(
    fresh: Said | None, shown: Said | None, ends: Mapping[int, int], reign: Reign
) -> str | None:
    """The rule that decision and proposal break together, by who decides."""
    missed = fresh is not None and reign.may_have_missed(
        fresh.status, fresh.partition, fresh.offset, fresh.commit_us
    )
    if shown is None:
        return None if missed else MISSING
    is_standing = shown.status in STANDING
    if shown.logic_revision != LOGIC_REVISION:
        if fresh is None:
            return EXTRA if is_standing and reign.is_ours else None
        return None if missed else OTHER_RULES
    rule = _differs(fresh, shown, ends)
    if not reign.is_ours:
        return EXTRA if is_standing or rule == EXTRA else None
    if missed and not is_standing and rule != EXTRA:
        return None
    return rule


def _differs(fresh: Said | None, shown: Said, ends: Mapping[int, int]) -> str | None:
    """The rule that a proposal of this revision breaks."""
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
            Said(
                output.revision,
                output.status,
                event.at.origin.partition,
                offset,
                event.at.as_of_us,
            ),
        )
