"""Write and lock the two rows of a transfer: one of the source, one of the destination.

Rows are locked in the order of their ids, so that two people who change a transfer can't deadlock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from ledger.access.scope import require_either
from ledger.kernel.errors import Conflict
from ledger.kernel.transactions import fetch_value, insert
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import Message
from ledger.nouns import counted
from ledger.receiving.shipment_line import ShipmentLine
from ledger.transfers.route import Route


@dataclass(frozen=True, slots=True)
class Transfer:
    """The ids of both rows of a transfer, and the reference that both have."""

    transfer_ref: str
    out_id: int
    in_id: int


@dataclass(frozen=True, slots=True)
class LockedTransfer:
    """Both rows of a transfer, locked until the transaction ends.

    `leaving` is the row of the source, `arriving` the row of the destination.
    """

    leaving: ShipmentLine
    arriving: ShipmentLine

    @property
    def ids(self) -> list[int]:
        """The ids of both rows."""
        return [self.leaving.id, self.arriving.id]


def write_pair(
    route: Route,
    keys: tuple[str, str],
    moved: Mapping[str, object],
    transfer_ref: str | None,
    reorder_id: str | None,
) -> Transfer:
    """Insert both rows of a transfer; return their ids and reference.

    `keys` are the key at the source and the key at the destination. `moved` has the columns that
    both rows share, for example status and units. `transfer_ref` None makes a new reference. Only
    the destination's row gets `reorder_id`, the id of the need that the transfer answers.
    """
    reference = transfer_ref or f"T-{uuid4().hex[:12]}"
    item = {"sku": route.sku, "transfer_ref": reference, "due_on": route.due_on}
    shared = {**moved, **item}
    leaving = {"inv_key": keys[0], "location": route.source, "leg": "transfer_out"}
    arriving = {"inv_key": keys[1], "location": route.destination, "leg": "transfer_in"}
    out_id = insert("shipment_line", shared | leaving)
    in_id = insert("shipment_line", shared | arriving | {"reorder_id": reorder_id})
    return Transfer(reference, out_id, in_id)


def locked_transfer(shipment_line_id: int) -> LockedTransfer:
    """Return the transfer to which a row belongs, locked until the transaction ends.

    `shipment_line_id` is the id of either row. Raise `Conflict` if the transfer was cancelled, or
    if it doesn't have exactly one row of the source and one row of the destination.
    """
    reference: str | None = fetch_value(
        "SELECT max(transfer_ref) FROM retail.shipment_line"
        " WHERE id = %s AND leg IN ('transfer_out', 'transfer_in')",
        shipment_line_id,
    )
    gone = Message(
        "transfer %(shipment_line_id)s does not exist: it was cancelled, or never planned",
        shipment_line_id=shipment_line_id,
    )
    if reference is None:
        raise Conflict(gone)
    rows = read_all(
        ShipmentLine,
        "SELECT * FROM retail.shipment_line WHERE transfer_ref = %s"
        " AND leg IN ('transfer_out', 'transfer_in')"
        " AND sku = (SELECT sku FROM retail.shipment_line WHERE id = %s) ORDER BY id FOR UPDATE",
        reference,
        shipment_line_id,
    )
    if not rows:  # cancelled while this transaction waited for the lock
        raise Conflict(gone)
    legs = {row.leg: row for row in rows}
    if len(rows) != len(legs) or len(legs) != 2:  # noqa: PLR2004 -- one row leaves, one arrives
        message = Message(
            "transfer %(reference)s has %(rows)s of this item. It must have two: one that leaves "
            "and one that arrives. Ask an operator to correct the transfer",
            reference=reference,
            rows=counted(len(rows), "line"),
        )
        raise Conflict(message)
    found = LockedTransfer(legs["transfer_out"], legs["transfer_in"])
    require_either(found.leaving.location, found.arriving.location)
    return found
