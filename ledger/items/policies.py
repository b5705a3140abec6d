"""Changes of the policies of ranged items (`retail.item_location`)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from ledger.items.service import checked_policy, locked_item
from ledger.kernel import checks
from ledger.kernel.bulk_insert import (
    Moved,
    moved_columns,
)
from ledger.kernel.transactions import (
    database_now,
    execute,
    ledger_transaction,
    log_action,
)


def set_policy(
    *, location: str, sku: str, changes: Mapping[str, object], actor: str | None = None
) -> Moved:
    """Change policy columns of one key; return changed columns as {column: [before, after]}.

    A column that already has its new value is left out.
    """
    values = checked_policy(changes)
    if not values:
        return {}
    with ledger_transaction():
        item = locked_item(location=location, sku=sku)
        moved = moved_columns(item.policy, values)
        if moved:
            with checks.named_policies([{**item.policy, **values}]), ledger_transaction():
                _update([item.inv_key], {name: values[name] for name in moved}, actor)
            log_action(actor=actor, action="policy", subject=item.inv_key, detail=moved)
    return moved


def set_policies(
    *, keys: Sequence[str], changes: Mapping[str, object], actor: str | None = None
) -> int:
    """Set policy columns of many keys to the same values; return the number of keys.

    One statement changes all keys. Raise `ServiceError`, and change none, if a value is not valid.
    """
    values = checked_policy(changes)
    if not values or not keys:
        return 0
    # If Postgres refuses the statement, `named_policies` finds the wrong value. The check uses the
    # defaults of all columns that don't change, because their values differ between keys.
    with checks.named_policies([{"status": "active", **values}]), ledger_transaction():
        return _update(list(keys), values, actor)


def _update(keys: list[str], values: Mapping[str, object], actor: str | None) -> int:
    assignments = ", ".join(f"{name} = %s" for name in values)
    statement = (
        f"UPDATE retail.item_location SET {assignments}, recorded_by = %s"  # noqa: S608 -- names were checked against the table's columns
        " WHERE inv_key = ANY(%s)"
    )
    return execute(statement, *values.values(), actor, keys)


def mark_reviewed(*, keys: Sequence[str], at: datetime | None = None) -> int:
    """Set `reviewed_at` of keys, by default to now; return the number of keys.

    The record of this write triggers the rules that depend on the day.
    """
    with ledger_transaction():
        return execute(
            "UPDATE retail.item_location SET reviewed_at = %s WHERE inv_key = ANY(%s)",
            at or database_now(),
            list(keys),
        )
