"""The log of one simulated key. It turns rows into records, as change capture does, and folds them.

This module holds no rule. Its functions for rows, such as `sale_row`, also make the rows of the
policy benchmark (`bench.policy_trial`).
"""

from collections.abc import Mapping
from typing import Any

from inventory.fold.partition import FoldResult, Partition
from inventory.fold.record import Applied, Refused, fold
from inventory.log.dedupe import Admission
from inventory.model.ids import InvKey
from inventory.model.outputs import ReorderOutput
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.replenishment.transitions import OPEN

Row = Mapping[str, Any]


class SimulatedLog:
    """A partition with one key. Offsets count its records, and serve as ids of new rows."""

    __slots__ = ("_generation", "_partition", "key", "offset", "opened")

    def __init__(self, key: str, generation: int = 1) -> None:
        self.key = key
        self.offset = 0
        self.opened: list[ReorderOutput] = []
        self._generation = generation
        self._partition = Partition(generation)

    @property
    def state(self) -> KeyState | None:
        """Return the key's state after the last record, None before the first."""
        return self._partition.states.get(InvKey(self.key))

    def write(self, table: str, before: Row | None, after: Row | None, at_us: int) -> FoldResult:
        """Append and fold a record of the change. A row without `recorded_at` gets `at_us`.

        Return the result of the fold.
        """
        old = None if before is None else {"recorded_at": at_us, **before}
        new = None if after is None else {"recorded_at": at_us, **after}
        op = "c" if before is None else "d" if after is None else "u"
        return self.append(table, op, old, new, at_us)

    def append(
        self, table: str, op: str, before: Row | None, after: Row | None, commit_us: int
    ) -> FoldResult:
        """Append and fold one record. Add each need (reorder) that it opens to `opened`.

        Return the result of the fold.
        """
        record = self._record(table, op, before, after, commit_us)
        self.offset += 1
        folded = self._partition.apply_admitted(record, Admission.NEW)
        if isinstance(folded, Applied):
            self.opened += [
                output
                for output in folded.outputs
                if isinstance(output, ReorderOutput) and output.status == OPEN
            ]
        return folded

    def tried(
        self, table: str, op: str, before: Row | None, after: Row | None, commit_us: int
    ) -> FoldResult:
        """Return the result that `append` would return, but append nothing."""
        record = self._record(table, op, before, after, commit_us)
        return fold(self.state, record, Admission.NEW, self._generation)

    def _record(
        self, table: str, op: str, before: Row | None, after: Row | None, commit_us: int
    ) -> Record:
        return Record(self.offset, self.key, table, op, before, after, self.offset + 1, commit_us)


def order_line_row(
    line: int, need: ReorderOutput, units: int, supplier: str, at_us: int
) -> dict[str, Any]:
    """Return a sent order line that answers the need."""
    return {
        "id": line,
        "order_ref": "PO",
        "supplier": supplier,
        "status": "sent",
        "reorder_id": need.id,
        "ordered_units": units,
        "ordered_at": at_us,
    }


def receipt_row(shipment: int, line: int, units: int, at_us: int) -> dict[str, Any]:
    """Return the complete and undamaged receipt of an order line."""
    return {
        "id": shipment,
        "leg": "supplier_in",
        "status": "received",
        "purchase_order_line_id": line,
        "shipped_units": units,
        "shipped_at": at_us,
        "received_units": units,
        "order_units": units,
        "received_at": at_us,
    }


def sale_row(line: int, units: int, amount_minor: int, at_us: int) -> dict[str, Any]:
    """Return a sale line of a till receipt."""
    return {
        "id": line,
        "source": "till",
        "source_ref": str(line),
        "quantity_units": units,
        "amount_minor": amount_minor,
        "condition": "resaleable",
        "occurred_at": at_us,
    }


def applied_or_raise(folded: FoldResult, log: SimulatedLog, table: str) -> KeyState:
    """Return the state after a row that this code made; a refusal is a defect of this code.

    Raises:
        ValueError: the message names key, offset, table and the reason.
    """
    if isinstance(folded, Applied):
        return folded.state
    detail = f", {folded.detail}" if isinstance(folded, Refused) else ""
    message = (
        "the simulation has a defect: the fold did not apply a simulated row. Key "
        f"{log.key}, offset {log.offset - 1}, table {table}, verdict {folded.verdict}{detail}"
    )
    raise ValueError(message)
