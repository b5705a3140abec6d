"""Differences between the decisions of two logic revisions, up to the same offsets of the log.

The *barrier* has these offsets, one per partition. Both revisions continue to read during the
comparison. So a key with decisions after the barrier may differ only because one revision is
further ahead. Such a key counts only if it also differs at a second, later barrier.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from analytics.backfill.diff.revised import DECISION_FIELDS
from cdc.settings import Connections
from deploy.revisions import progress
from deploy.revisions.decisions import DecisionKey, Decisions, differing_fields, is_pending
from deploy.revisions.progress import Progress, no_report

ONLY_FORMER: Final = "only_former"
ONLY_NEW: Final = "only_new"
CHANGED: Final = "changed"
EXPLANATION: Final = "explanation"  # equal decisions, but other terms, levels or flags
_SHOWN: Final = ("id", "status", "quantity_units", "new_minor")


@dataclass(frozen=True, slots=True)
class Difference:
    """One key about which the revisions decide differently.

    `kind` is "reorder" or "price". `how` is `ONLY_FORMER`, `ONLY_NEW`, `CHANGED` or `EXPLANATION`.
    `fields` names the differing fields. `former` and `fresh` are the two decisions: id, status, and
    quantity or price. Each is None if its revision has made no decision.
    """

    kind: str
    inv_key: str
    how: str
    fields: tuple[str, ...]
    former: Mapping[str, Any] | None
    fresh: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison of the decisions that wait for an answer.

    `barrier` has the offset in each partition at which the revisions are compared. `equal` counts
    keys with equal decisions. `explained` counts keys whose decisions differ only in their
    explanation, which is no difference. `moving` counts keys that differ, but have a decision at or
    after the barrier. `refused` names the invalid records in the topics of decisions, which
    consumers ignore.
    """

    former: int
    fresh: int
    barrier: Mapping[int, int]
    equal: int
    moving: int
    differences: tuple[Difference, ...]
    refused: tuple[str, ...] = ()
    explained: int = 0

    def counts(self) -> dict[str, int]:
        """Return a map from the name of a result, for example `equal`, to the number of keys."""
        by_way = [difference.how for difference in self.differences]
        ways = {how: by_way.count(how) for how in (ONLY_FORMER, ONLY_NEW, CHANGED)}
        return {
            "equal": self.equal,
            **ways,
            EXPLANATION: self.explained,
            "moving": self.moving,
        }

    def as_json(self, most: int = 50) -> dict[str, Any]:
        """Return the report for scripts. It has at most `most` differences, needs first."""
        shown = sorted(self.differences, key=lambda one: (one.kind != "reorder", one.inv_key))
        return {
            "former": self.former,
            "revision": self.fresh,
            "barrier": dict(self.barrier),
            **self.counts(),
            "differing": len(self.differences),
            "differences": [asdict(difference) for difference in shown[:most]],
            "differences_not_shown": max(0, len(shown) - most),
            "refused": len(self.refused),
            "refused_records": list(self.refused[:most]),
        }


def compare(
    settings: Connections,
    former: Decisions,
    fresh: Decisions,
    timeout_s: float,
    *,
    report: Progress = no_report,
) -> Comparison:
    """Return the comparison of the pending decisions at the present end of the log.

    First wait until both revisions have read the log up to this end.

    Raises:
        StackError: one of the two revisions did not read that far in `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    first = _at_barrier(settings, former, fresh, deadline, report)
    if not first.moving:
        return first
    suspected = {_key_of(difference) for difference in _different_decisions(former, fresh)}
    second = _at_barrier(settings, former, fresh, deadline, report)
    return _confirmed(second, former, fresh, suspected)


def _at_barrier(
    settings: Connections,
    former: Decisions,
    fresh: Decisions,
    deadline: float,
    report: Progress,
) -> Comparison:
    barrier = progress.ends(settings)
    for side in (former, fresh):
        progress.wait_past(settings, barrier, side.revision, deadline, report=report)
        side.refresh(deadline)
    every = list(_differences(former, fresh))
    found = [entry for entry in every if entry.how != EXPLANATION]
    still = [entry for entry in found if not _moved(entry, former, fresh, barrier)]
    keys = former.newest.keys() | fresh.newest.keys()
    pending = sum(is_pending(former.newest.get(k)) or is_pending(fresh.newest.get(k)) for k in keys)
    return Comparison(
        former=former.revision,
        fresh=fresh.revision,
        barrier=barrier,
        equal=pending - len(every),
        moving=len(found) - len(still),
        differences=tuple(still),
        refused=(*former.refused, *fresh.refused),
        explained=len(every) - len(found),
    )


def _confirmed(
    second: Comparison, former: Decisions, fresh: Decisions, suspected: set[DecisionKey]
) -> Comparison:
    """Return the second comparison. Add to its differences the keys that differed at both barriers.

    Such a key counts even if it has a decision after the second barrier. `suspected` has the keys
    that differed at the first barrier.
    """
    known = {_key_of(difference) for difference in second.differences}
    found = _different_decisions(former, fresh)
    lasting = [entry for entry in found if _key_of(entry) in known | suspected]
    return Comparison(
        former=second.former,
        fresh=second.fresh,
        barrier=second.barrier,
        equal=second.equal,
        moving=len(found) - len(lasting),
        differences=tuple(lasting),
        refused=second.refused,
        explained=second.explained,
    )


def _different_decisions(former: Decisions, fresh: Decisions) -> list[Difference]:
    """Return the differences, except those in which only the explanation differs."""
    return [one for one in _differences(former, fresh) if one.how != EXPLANATION]


def _differences(former: Decisions, fresh: Decisions) -> Iterator[Difference]:
    for kind, key in sorted(former.newest.keys() | fresh.newest.keys()):
        old, new = former.newest.get((kind, key)), fresh.newest.get((kind, key))
        how, fields = _disagreement(kind, old, new)
        if how is not None:
            yield Difference(kind, key, how, fields, _shown(old), _shown(new))


def _disagreement(
    kind: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> tuple[str | None, tuple[str, ...]]:
    if not is_pending(old) and not is_pending(new):
        return None, ()
    if old is None or not is_pending(old):
        return ONLY_NEW, ()
    if new is None or not is_pending(new):
        return ONLY_FORMER, ()
    fields = tuple(differing_fields(old, new))
    if not fields:
        return None, ()
    return (CHANGED if DECISION_FIELDS[kind] & set(fields) else EXPLANATION), fields


def _moved(
    difference: Difference, former: Decisions, fresh: Decisions, barrier: Mapping[int, int]
) -> bool:
    """Return True if a revision has decided about the key at or after the barrier."""
    sides = (side.newest.get(_key_of(difference)) for side in (former, fresh))
    places = [side["position"] for side in sides if side is not None]
    return any(place["offset"] >= barrier[place["partition"]] for place in places)


def _key_of(difference: Difference) -> DecisionKey:
    return difference.kind, difference.inv_key


def _shown(document: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if document is None:
        return None
    return {name: document[name] for name in _SHOWN if name in document}
