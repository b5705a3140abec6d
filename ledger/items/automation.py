"""The policy columns that allow automatic orders and automatic prices for an item."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from ledger.items.policies import set_policy
from ledger.items.service import LockedItem, locked_item
from ledger.kernel.bulk_insert import Moved
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_idempotent
from ledger.kernel.refusal_text import changes_text
from ledger.messages import Message

AUTOMATION: Final = ("auto_max_minor", "price_mode", "auto_permille")


def set_automation(
    *,
    location: str,
    sku: str,
    changes: Mapping[str, object],
    shown: Mapping[str, object],
    actor: str,
    command_id: UUID | None = None,
) -> Moved:
    """Change columns of an item's policy; `AUTOMATION` lists the columns that are allowed here.

    Return the changed columns as {column: [before, after]}; a column that already has its new value
    is left out. `shown` has the values that the person saw, by column. If one of these values has
    changed since, nothing is written, and the `Conflict` names the change.
    """
    for name in changes:
        if name not in AUTOMATION:
            refuse(
                "policy", name, Message("one of %(automation)s", automation=", ".join(AUTOMATION))
            )

    def work() -> Moved:
        _refuse_moved(locked_item(location=location, sku=sku), shown)
        return set_policy(location=location, sku=sku, changes=changes, actor=actor)

    return run_idempotent(command_id, f"automation {location}|{sku}", actor, work, content=changes)


def _refuse_moved(item: LockedItem, shown: Mapping[str, object]) -> None:
    changes = changes_text(item.policy, shown)
    if changes:
        message = Message(
            "%(inv_key)s has changed since it was shown. Last change by %(writer)s, "
            "%(write_time)s: %(said)s",
            inv_key=item.inv_key,
            writer=item.writer,
            write_time=item.write_time,
            said=changes,
        )
        raise Conflict(message)
