"""The conditions of automatic orders (docs/domain.md 7), and a reason for each failed condition.

The buyer's desk uses the same functions as the job that approves needs automatically. So the desk
shows why the job doesn't approve a need.

All needs for one supplier and location form a group. If the value of the group is below the
supplier's minimum, all its needs wait. This value counts only those needs that have no reason of
their own to wait.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cdc.contracts.topics import ON_HAND_CHANGELOG
from inventory.replenishment.attention import SENTENCES
from inventory.tables.columns import QUANTITY_MAX
from ledger.kernel.amounts import amount_text
from ledger.kernel.pipeline import LIFE, OLDEST_US, is_stale
from ledger.kernel.proposal_rows import DECIDABLE_SQL
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import Counted, Message, gettext_noop, joined
from ledger.ordering.supplier_terms import days_of

SETTLED_AFTER_US: Final = 60_000_000
# Codes of reasons that can end without a person. If a need waits only for such reasons, the job
# orders it as soon as they have ended.
PASSING: Final = frozenset(
    {
        *("not_order_day", "below_minimum"),
        *("unsettled", "stock_old", "state_differs", "pipeline_stale"),
    }
)


class Reason(NamedTuple):
    """A reason why the job doesn't order a need: a code for programs, a clause for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """An open need, with all values that the conditions compare.

    `*_us` are durations in microseconds; an age is None if it is unknown. `weekday` is 0 on Monday,
    in UTC. `requested_units` is the need's quantity in the newest stock figures (the read model).
    It is None if the item has no need in these figures, or a need with another id.
    """

    reorder_id: str
    revision: int
    inv_key: str
    location: str
    supplier: str | None
    quantity_units: int
    pack_units: int
    cost_minor: int
    auto_max_minor: int
    flags: Sequence[str]
    supplier_active: bool
    minimum_order_minor: int
    order_days_mask: int
    weekday: int
    unchanged_us: int
    stock_age_us: int | None
    pipeline_age_us: int | None
    requested_units: int | None

    @property
    def value_minor(self) -> int:
        """The quantity times the cost of one unit, in minor units."""
        return self.quantity_units * self.cost_minor

    @property
    def group(self) -> tuple[str | None, str]:
        """The supplier and location of the order that the need would be part of."""
        return self.supplier, self.location


def own_reasons(case: Case) -> tuple[Reason, ...]:
    """Return the reasons to wait that concern this need alone, and not the group of the need."""
    found = (*_policy(case), *_supplier(case), *_freshness(case))
    return tuple(reason for reason in found if reason is not None)


def _policy(case: Case) -> Iterable[Reason | None]:
    if case.auto_max_minor == 0:
        yield Reason("no_limit", gettext_noop("automatic orders are not allowed for this item"))
    elif case.value_minor > case.auto_max_minor:
        yield Reason(
            "above_limit",
            Message(
                "it costs %(value_minor)s, more than the item's limit of %(auto_max_minor)s",
                value_minor=amount_text(case.value_minor),
                auto_max_minor=amount_text(case.auto_max_minor),
            ),
        )
    if case.flags:
        flags = [Message(SENTENCES.get(flag, flag.replace("_", " "))) for flag in case.flags]
        yield Reason("flagged", Message("it %(flags)s", flags=joined(flags, " and ")))
    if case.quantity_units > QUANTITY_MAX:
        yield Reason(
            "too_many",
            Message(
                "no order line takes more than %(most)s units",
                most=f"{QUANTITY_MAX:,}",
            ),
        )
    if case.quantity_units % case.pack_units:
        yield Reason(
            "odd_units",
            Counted(
                "%(units)s unit is no multiple of the pack of %(pack_units)s",
                "%(units)s units are no multiple of the pack of %(pack_units)s",
                case.quantity_units,
                units=f"{case.quantity_units:,}",
                pack_units=case.pack_units,
            ),
        )


def _supplier(case: Case) -> Iterable[Reason | None]:
    if not case.supplier:
        yield Reason("no_supplier", gettext_noop("it has no supplier"))
        return
    if not case.supplier_active:
        yield Reason("supplier_inactive", gettext_noop("its supplier is not active"))
    if not case.order_days_mask >> case.weekday & 1:
        days = joined(map(Message, days_of(case.order_days_mask)))
        yield Reason(
            "not_order_day",
            Message("its supplier takes no orders today, only on %(days)s", days=days),
        )


def _freshness(case: Case) -> Iterable[Reason | None]:
    if case.unchanged_us < SETTLED_AFTER_US:
        yield Reason("unsettled", gettext_noop("it changed less than 60 s ago"))
    if case.stock_age_us is None or case.stock_age_us > OLDEST_US:
        yield Reason(
            "stock_old",
            gettext_noop("the stock figures of the item are missing or more than 60 s old"),
        )
    elif case.requested_units != case.quantity_units:
        yield Reason(
            "state_differs", gettext_noop("by the newest stock figures, the quantity is different")
        )
    if is_stale(case.pipeline_age_us):
        yield Reason(
            "pipeline_stale",
            gettext_noop("a partition has had no heartbeat for 60 s: the stock figures may be old"),
        )


def reasons_to_wait(cases: Iterable[Case]) -> dict[str, tuple[Reason, ...]]:
    """Return the reasons to wait by reorder id; a need without reasons is ordered automatically.

    For each group (supplier and location), add up the values of the needs that have no reason of
    their own. If the sum is below the supplier's minimum, these needs get the reason
    `below_minimum`. So `cases` must contain all needs of a group that have no reason of their own.
    """
    found = {case.reorder_id: (case, own_reasons(case)) for case in cases}
    reached: dict[tuple[str | None, str], int] = defaultdict(int)
    for case, reasons in found.values():
        if not reasons:
            reached[case.group] += case.value_minor
    return {
        reorder_id: (*reasons, *_group_reason(case, reached, counts=not reasons))
        for reorder_id, (case, reasons) in found.items()
    }


def _group_reason(
    case: Case, reached: Mapping[tuple[str | None, str], int], *, counts: bool
) -> tuple[Reason, ...]:
    if not counts or reached[case.group] >= case.minimum_order_minor:
        return ()
    text = Message(
        "orders for this supplier and location add up to %(reached)s, below the supplier's minimum "
        "of %(minimum_order_minor)s",
        reached=amount_text(reached[case.group]),
        minimum_order_minor=amount_text(case.minimum_order_minor),
    )
    return (Reason("below_minimum", text),)


_CASES: Final = f"""
WITH {LIFE}
SELECT r.reorder_id, r.revision, r.inv_key, r.location,
       coalesce(r.supplier, il.supplier) AS supplier,
       coalesce(r.quantity_units, 0) AS quantity_units, il.pack_units, il.cost_minor,
       CASE WHEN il.status = 'active' THEN il.auto_max_minor ELSE 0 END AS auto_max_minor,
       r.flags, coalesce(su.is_active, true) AS supplier_active,
       coalesce(su.minimum_order_minor, 0) AS minimum_order_minor,
       coalesce(su.order_days_mask, 127) AS order_days_mask,
       (extract(isodow FROM moment.now AT TIME ZONE 'UTC'))::int - 1 AS weekday,
       (extract(epoch FROM moment.now - r.updated_at) * 1000000)::bigint AS unchanged_us,
       (extract(epoch FROM moment.now) * 1000000)::bigint - greatest(s.as_of_us, at.as_of_us)
           AS stock_age_us,
       life.age_us AS pipeline_age_us,
       CASE WHEN s.reorder_id = r.reorder_id THEN s.requested_units END AS requested_units
FROM moment CROSS JOIN life CROSS JOIN app.reorder_proposal r
JOIN retail.item_location il ON il.inv_key = r.inv_key
LEFT JOIN retail.supplier su ON su.code = coalesce(r.supplier, il.supplier)
LEFT JOIN read_model.stock s ON s.inv_key = r.inv_key
LEFT JOIN read_model.sink_position at
    ON at.sink = 'projector' AND at.topic = '{ON_HAND_CHANGELOG}' AND at.partition = s.partition
WHERE {DECIDABLE_SQL}
"""  # noqa: S608 -- constants of this project
# `''` replaces a missing supplier. A null would equal nothing, so these needs would be left out.
_OF_GROUPS: Final = """
  AND (coalesce(r.supplier, il.supplier, ''), r.location) IN (
    SELECT coalesce(p.supplier, i.supplier, ''), p.location FROM app.reorder_proposal p
    JOIN retail.item_location i ON i.inv_key = p.inv_key WHERE p.reorder_id = ANY(%s))
"""
_ALLOWED: Final = " AND il.auto_max_minor > 0"


def cases_that_policy_allows() -> list[Case]:
    """Return every open need of an item whose policy has a limit above 0 for automatic orders."""
    return read_all(Case, _CASES + _ALLOWED)


def why_not(reorder_ids: Iterable[str]) -> dict[str, tuple[Reason, ...]]:
    """Return for each need, by reorder id, the reasons why the job doesn't order it.

    A need without such reasons has an empty tuple. Needs on which nobody may decide now are left
    out, for example closed ones.
    """
    wanted = list(reorder_ids)
    if not wanted:
        return {}
    found = reasons_to_wait(read_all(Case, _CASES + _OF_GROUPS, wanted))
    return {reorder_id: found[reorder_id] for reorder_id in wanted if reorder_id in found}
