"""Check that a key has at most one open need, a need at most one order line, and no need is lost.

A shipment line that answers a need counts like an order line. The first and the last check are laws
W9 and W10 of docs/domain.md 9. Proposals come from the one logic revision that decides (decision
0013), so only needs of this revision are compared with them. If this code has another revision, the
published decisions are read instead of the states.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from inventory.model.state import KeyState
from inventory.replenishment.levels import levels
from inventory.replenishment.needs import base_position_units
from inventory.replenishment.transitions import ABOVE_REORDER_POINT

_DUPLICATE_LINES: Final = """
SELECT reorder_id, count(*) FROM (
    SELECT reorder_id, location FROM retail.purchase_order_line
    UNION ALL SELECT reorder_id, location FROM retail.shipment_line
) answer
WHERE reorder_id IS NOT NULL AND (%(location)s::text IS NULL OR location = %(location)s::text)
GROUP BY reorder_id HAVING count(*) > 1
"""
_DUPLICATE_PROPOSALS: Final = """
SELECT inv_key, count(*) FROM app.reorder_proposal
WHERE status IN ('open', 'snoozed')
  AND (%(location)s::text IS NULL OR location = %(location)s::text)
GROUP BY inv_key HAVING count(*) > 1
"""
_PROPOSALS: Final = """
SELECT reorder_id FROM app.reorder_proposal
WHERE %(location)s::text IS NULL OR location = %(location)s::text
"""
UNPROPOSED: Final = "an open need has a proposal"
# An idle key at or below its reorder point must have a reason why no need is open. These two texts
# give no such reason.
_NO_REASONS: Final = ("", ABOVE_REORDER_POINT)


@dataclass(frozen=True, slots=True)
class Reorders:
    """The number of open needs (reorders) in the workers' states, and two lists of violations.

    `duplicates` lists needs that several order or shipment lines answer, and keys with several open
    or snoozed proposals. `missing` lists keys that lack a required need or proposal.
    """

    open: int
    duplicates: tuple[dict[str, Any], ...]
    missing: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs that must have proposals: those of the deciding logic revision.

    `others` is None if this code's revision decides: then the workers' states have the needs.
    Otherwise `others` maps each key to the id of the deciding revision's open need.
    `ids_in_flight` returns the ids of needs that the actuator has not applied yet. It is called
    only if an open need has no proposal.
    """

    ids_in_flight: Callable[[], set[str]]
    others: Mapping[str, str] | None = None


def check_reorders(
    connection: psycopg.Connection,
    states: Iterable[KeyState],
    location: str | None,
    needs: Needs,
    only: Iterable[str] | None = None,
) -> Reorders:
    """Return the number of open needs (reorders), and the violations: see `Reorders`."""
    parameters = {"location": location}
    lines = connection.execute(_DUPLICATE_LINES, parameters).fetchall()
    proposals = connection.execute(_DUPLICATE_PROPOSALS, parameters).fetchall()
    proposed = {row[0] for row in connection.execute(_PROPOSALS, parameters)}
    missing: list[dict[str, Any]] = []
    open_needs = 0
    for state in states:
        open_needs += state.episode.state == "open"
        rule = _missing(state, proposed, decides=needs.others is None)
        if rule is not None:
            missing.append({"key": state.inv_key, "rule": rule, "reorder_id": state.episode.id})
    missing += _missing_others(needs.others or {}, proposed, location, only)
    if any(entry["rule"] == UNPROPOSED for entry in missing):
        in_flight = needs.ids_in_flight()
        missing = [entry for entry in missing if entry["reorder_id"] not in in_flight]
    duplicates = [{"reorder_id": name, "order_lines": count} for name, count in lines]
    duplicates += [{"key": key, "open_proposals": count} for key, count in proposals]
    return Reorders(open_needs, tuple(duplicates), tuple(missing))


def _missing_others(
    needs: Mapping[str, str], proposed: set[str], location: str | None, only: Iterable[str] | None
) -> list[dict[str, Any]]:
    """Return a violation for each open need in `needs` (id by key) that has no proposal.

    `needs` are of another revision than this code's. `proposed` are the ids of proposals.
    """
    start = "" if location is None else f"{location}|"
    wanted = None if only is None else set(only)
    return [
        {"key": key, "rule": UNPROPOSED, "reorder_id": identity}
        for key, identity in sorted(needs.items())
        if identity not in proposed and key.startswith(start) and (wanted is None or key in wanted)
    ]


def _missing(state: KeyState, proposed: set[str], *, decides: bool) -> str | None:
    """Return the rule that the key breaks, or None. Proposals are checked only if `decides`."""
    episode = state.episode
    if decides and episode.state == "open" and episode.id not in proposed:
        return UNPROPOSED
    if episode.state == "idle" and episode.reason in _NO_REASONS and _is_needed(state):
        return "at or below the reorder point: an open need, a hold, or a reason why not"
    return None


def _is_needed(state: KeyState) -> bool:
    """Return True if base position ≤ reorder point, for an active policy and known stock."""
    policy = state.policy
    if policy is None or policy.status != "active" or not state.stock_known:
        return False
    level = levels(policy, state.demand.rate_micro, state.demand.mad_micro)
    base = base_position_units(state.on_hand_units, state.on_order_units, policy.allocated_units)
    return level.reorder_point_units is not None and base <= level.reorder_point_units
