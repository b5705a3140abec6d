"""Ranging of items at locations, with their policies (`retail.item_location`).

The workers decide about a key only if the key has a row in this table. They use the values of that
row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from inventory.pricing.targets import floor_minor
from ledger.access.scope import require_store
from ledger.kernel import checks
from ledger.kernel.bulk_insert import (
    columns_of,
    insert_documents,
    insert_many,
)
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.row_parts import Keyed, Stamped
from ledger.kernel.transactions import (
    business_time_or_now,
    fetch_one,
    ledger_transaction,
    log_action,
)
from ledger.kernel.unscoped_rows import typed
from ledger.messages import Message

# Columns that people don't set: keys, and the time and author of the last write.
FIXED: Final = frozenset({"id", "inv_key", "location", "sku", "recorded_at", "recorded_by"})


class RangedItem(NamedTuple):
    """An item to range, which means: to give a policy at a location.

    `opening_units` are the units of the opening count. With None no count is written, and the
    item's stock is unknown until its first count.
    """

    location: str
    sku: str
    policy: Mapping[str, object]
    opening_units: int | None = 0


@dataclass(frozen=True, slots=True)
class LockedItem(Keyed, Stamped):
    """One row of `retail.item_location`, locked; `policy` has all columns of the row by name."""

    inv_key: str
    location: str
    sku: str
    cost_minor: int
    margin_permille: int
    tax_bp: int
    regular_minor: int | None
    recorded_at: datetime
    recorded_by: str | None
    policy: Mapping[str, object]

    @property
    def floor_minor(self) -> int:
        """The lowest price in minor units that cost, margin and tax allow (docs/domain.md 6.2)."""
        return floor_minor(self.cost_minor, self.margin_permille, self.tax_bp)


@lru_cache(maxsize=1)
def policy_columns() -> frozenset[str]:
    """Return the columns of `retail.item_location` that a policy may set."""
    return columns_of("item_location") - FIXED


def checked_policy(policy: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of the policy; raise `ServiceError` for a column that people can't set."""
    unknown = sorted(set(policy) - policy_columns())
    if unknown:
        refuse("policy", unknown[0], "the name of a policy column that people may set")
    return dict(policy)


def range_item(
    *,
    location: str,
    sku: str,
    policy: Mapping[str, object] | None = None,
    opening_units: int | None = 0,
    occurred_at: datetime | None = None,
    actor: str | None = None,
) -> str:
    """Range an item at a location: write its policy there, and its opening count.

    Return the item's `inv_key`. Raise `Conflict` if the item is ranged there already.
    """
    require_store(location)
    item = RangedItem(location, sku, policy or {}, opening_units)
    with ledger_transaction():
        if range_items(items=[item], occurred_at=occurred_at, actor=actor) == 0:
            message = Message("%(inv_key)s is ranged already", inv_key=f"{location}|{sku}")
            raise Conflict(message)
        log_action(actor=actor, action="range", subject=f"{location}|{sku}", detail=item.policy)
    return f"{location}|{sku}"


def range_items(
    *,
    items: Sequence[RangedItem],
    occurred_at: datetime | None = None,
    actor: str | None = None,
) -> int:
    """Range new items: write their policies with one statement, and opening counts with another.

    Return the number of new items. An item that is ranged already keeps its policy and gets no
    opening count. If `items` has an item twice, the second one is ignored. `occurred_at` is the
    time of the counts, None for the present time. All policies of one call must set the same
    columns.
    """
    documents = [_document(item, actor) for item in items]
    if any(document.keys() != documents[0].keys() for document in documents):
        refuse("items", len(items), "all policies of one call must set the same columns")
    with checks.named_policies(documents), ledger_transaction():
        # Only the result of the insert shows which items are new, because another transaction may
        # range one of them meanwhile.
        ranged = frozenset(insert_documents("item_location", documents, unless="inv_key"))
        counted_at = business_time_or_now("occurred_at", occurred_at)
        insert_many(
            "stock_count",
            ("location", "sku", "units", "kind", "status", "occurred_at", "recorded_by"),
            [
                (i.location, i.sku, i.opening_units, "opening", "approved", counted_at, actor)
                for key, i in _first_by_key(items).items()
                if i.opening_units is not None and key in ranged
            ],
        )
    return len(ranged)


def _document(item: RangedItem, actor: str | None) -> dict[str, object]:
    if item.opening_units is not None:
        checks.integer("opening_units", item.opening_units)
    return {
        "inv_key": checks.key(item.location, item.sku),
        "location": item.location,
        "sku": item.sku,
        "recorded_by": actor,
        "status": "active",
        **checked_policy(item.policy),
    }


def _first_by_key(items: Sequence[RangedItem]) -> dict[str, RangedItem]:
    """Return the items by key. Of two items with one key, keep the first.

    The insert also writes the policy of the first, and skips the second.
    """
    first: dict[str, RangedItem] = {}
    for item in items:
        first.setdefault(f"{item.location}|{item.sku}", item)
    return first


def locked_item(*, location: str, sku: str) -> LockedItem:
    """Return an item, locked until the transaction ends.

    Raise `ServiceError` if the item has no policy at this location (it isn't ranged there).
    """
    inv_key = checks.key(location, sku)
    require_store(location)
    found = fetch_one("SELECT * FROM retail.item_location WHERE inv_key = %s FOR UPDATE", inv_key)
    if found is None:
        refuse("inv_key", inv_key, "not ranged at this location: range the item first")
    return typed(LockedItem, found | {"policy": found})
