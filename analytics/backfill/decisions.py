"""Compare the proposals in Postgres with the decisions of a fresh fold of the log.

Every decision must have a proposal with the same revision and status. Every proposal must have a
decision. The statuses superseded and cancelled count as equal. Postgres may be ahead of the fold: a
proposal's newest record may lie at or after the end of the recomputed history. Such a proposal may
have no decision, or a higher revision than its decision.

Only the deciding logic revision makes proposals (`analytics.backfill.deciding_revision`). If a
decision was closed while another logic revision decided, its proposal may be missing. A proposal
that a switch closed may have a lower revision or another status than its decision.

Proposals of other logic revisions are counted and not compared. But if this code's revision
decides, two kinds of them are differences:
- An open proposal without a decision.
- A proposal for a decision that must have led to a proposal of this code's revision.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics.backfill.deciding_revision import (
    OPEN_STATUSES,
    DecidingRevision,
    read_deciding_revision,
)
from analytics.engines.results import OUTPUTS, read_rows
from analytics.engines.unit import ManifestRow
from analytics.verification.barrier import Barrier, NotCaughtUp
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder
from cdc.settings import Connections
from inventory.model.ids import generation_of
from inventory.revision import LOGIC_REVISION

MISSING: Final = "no proposal"
EXTRA: Final = "a proposal that no decision explains"
LOWER: Final = "a lower revision than the decision's"
OTHER: Final = "another status than the decision's"
OTHER_RULES: Final = "only a proposal of another logic revision"
TIMEOUT_S: Final = 120.0
_PROPOSALS: Final = """
SELECT reorder_id, revision, status, position, logic_revision FROM app.reorder_proposal
UNION ALL
SELECT proposal_id, revision, status, position, logic_revision FROM app.price_proposal
"""
# A newer need of the key closes an older proposal in Postgres (superseded) before the fold's
# closing decision (cancelled) arrives. So the two statuses count as equal.
_CLOSED: Final = frozenset({"superseded", "cancelled"})


@dataclass(frozen=True, slots=True)
class DecisionRevision:
    """The newest revision of a decision or of a proposal, and the record that caused it.

    `commit_us` is the record's commit time; 0 for proposals, which don't store it.
    """

    revision: int
    status: str
    partition: int
    offset: int
    commit_us: int = 0
    logic_revision: int = LOGIC_REVISION


@dataclass(frozen=True, slots=True)
class Decisions:
    """The number of ids compared, and every difference.

    If the actuator did not apply all records in time, nothing was compared, and `behind` describes
    the missing records. `others` counts proposals of other logic revisions. `former` counts closed
    proposals of former generations, which are left out. `decides` is the deciding logic revision.
    """

    compared: int
    differing: tuple[dict[str, Any], ...]
    behind: dict[str, Any] | None = None
    others: int = 0
    former: int = 0
    decides: int = LOGIC_REVISION

    @property
    def ok(self) -> bool:
        """Return True if decisions and proposals were compared and do not differ."""
        return not self.differing and self.behind is None


def compare_decisions(
    settings: Connections,
    rows: Iterable[ManifestRow],
    ends: Mapping[int, int],
    begins: Mapping[int, int] | None = None,
) -> Decisions:
    """Return the differences between the proposals and a finished recomputation up to `ends`.

    If `begins` is given, the recomputation holds only the decisions of records from these offsets
    on, one offset per partition. Proposals that such a recomputation can't check are left out
    (`decided_since`).
    """
    decided = newest(event for row in rows for event in _events(row))
    url = settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            # The workers have passed `ends`. Wait until the actuator has, too.
            Barrier(settings, connection, TIMEOUT_S).wait_until_now()
        except NotCaughtUp as problem:
            return Decisions(0, (), problem.behind)
        proposed = {
            row[0]: DecisionRevision(
                row[1],
                row[2],
                int(row[3]["partition"]),
                int(row[3]["offset"]),
                logic_revision=row[4],
            )
            for row in connection.execute(_PROPOSALS)
        }
        deciding = read_deciding_revision(connection, settings)
    proposed = decided_since(begins or {}, decided, proposed, settings.generation)
    former = closed_before(settings.generation, proposed)
    for identity in former:
        del proposed[identity]
    return Decisions(
        compared=len({*decided, *proposed}),
        differing=tuple(differences(decided, proposed, ends, deciding)),
        others=sum(entry.logic_revision != LOGIC_REVISION for entry in proposed.values()),
        former=len(former),
        decides=deciding.revision,
    )


def closed_before(generation: int, proposed: Mapping[str, DecisionRevision]) -> frozenset[str]:
    """Return the ids of closed proposals of former generations: their log no longer exists.

    An open proposal of a former generation stays in the comparison, because the new generation had
    to close it.
    """
    return frozenset(
        identity
        for identity, entry in proposed.items()
        if entry.status not in OPEN_STATUSES and generation_of(identity) != generation
    )


def decided_since(
    begins: Mapping[int, int],
    decided: Mapping[str, DecisionRevision],
    proposed: Mapping[str, DecisionRevision],
    generation: int,
) -> dict[str, DecisionRevision]:
    """Return the proposals that a recomputation from `begins` on can check.

    The recomputation can check a proposal if one of these conditions holds:
    - The recomputation has a decision with the proposal's id.
    - The proposal's record lies at or after `begins`.
    - The proposal is of another generation than `generation`.
    """
    return {
        identity: entry
        for identity, entry in proposed.items()
        if identity in decided
        or entry.offset >= begins.get(entry.partition, 0)
        or generation_of(identity) != generation
    }


def newest(events: Iterable[tuple[str, DecisionRevision]]) -> dict[str, DecisionRevision]:
    """Return the highest revision of each id."""
    found: dict[str, DecisionRevision] = {}
    for identity, entry in events:
        if identity not in found or entry.revision > found[identity].revision:
            found[identity] = entry
    return found


def differences(
    decided: Mapping[str, DecisionRevision],
    proposed: Mapping[str, DecisionRevision],
    ends: Mapping[int, int],
    deciding: DecidingRevision | None = None,
) -> Iterable[dict[str, Any]]:
    """Yield an entry for each id whose decision (of the fold) and proposal (in Postgres) differ.

    An entry has the id, the decision, the proposal and the broken rule.
    """
    for identity in sorted({*decided, *proposed}):
        decision, proposal = decided.get(identity), proposed.get(identity)
        rule = _broken(decision, proposal, ends, deciding or DecidingRevision())
        if rule is not None:
            yield {
                "id": identity,
                "rule": rule,
                "decision": None if decision is None else f"{decision.revision} {decision.status}",
                "proposal": None if proposal is None else f"{proposal.revision} {proposal.status}",
            }


def _broken(
    decision: DecisionRevision | None,
    proposal: DecisionRevision | None,
    ends: Mapping[int, int],
    deciding: DecidingRevision,
) -> str | None:
    """Return the rule that decision and proposal break, or None if they break none."""
    missed = decision is not None and deciding.may_have_missed(
        decision.status, decision.partition, decision.offset, decision.commit_us
    )
    if proposal is None:
        return None if missed else MISSING
    is_open = proposal.status in OPEN_STATUSES
    if proposal.logic_revision != LOGIC_REVISION:
        if decision is None:
            return EXTRA if is_open and deciding.decides_here else None
        return None if missed else OTHER_RULES
    rule = _differs(decision, proposal, ends)
    if not deciding.decides_here:
        return EXTRA if is_open or rule == EXTRA else None
    if missed and not is_open and rule != EXTRA:
        return None
    return rule


def _differs(
    decision: DecisionRevision | None, proposal: DecisionRevision, ends: Mapping[int, int]
) -> str | None:
    """Return the rule that a proposal of this logic revision breaks, or None."""
    is_newer = proposal.offset >= ends.get(proposal.partition, 0)
    if decision is None:
        return None if is_newer else EXTRA
    if proposal.revision < decision.revision:
        return LOWER
    if is_newer:
        return None
    if proposal.revision > decision.revision:
        return EXTRA
    is_same = proposal.status == decision.status or {proposal.status, decision.status} <= _CLOSED
    return None if is_same else OTHER


def _events(row: ManifestRow) -> Iterable[tuple[str, DecisionRevision]]:
    """Yield the decisions of one unit of the recomputation."""
    for _key, offset, content in read_rows(row, OUTPUTS):
        try:
            event: Any = decode_reorder(content)
        except NotADecision:
            event = decode_price(content)
        output = event.output
        yield (
            str(output.id),
            DecisionRevision(
                output.revision,
                output.status,
                event.at.origin.partition,
                offset,
                event.at.as_of_us,
            ),
        )
