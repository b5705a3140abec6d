"""A minimal fold. Its rate measures the machine, so that runs on two machines can be compared."""

from dataclasses import dataclass, field

from inventory.model.arithmetic import WINDOW_US
from inventory.model.record import Record


@dataclass(slots=True)
class Counters:
    """On-hand and window counters in plain dictionaries, updated in place.

    It adds up the units of sale lines. It skips copies of earlier records, which it recognises by
    the identities of all earlier records. It has none of the other rules: counts, late sales,
    horizon, demand, decisions, limits.
    """

    on_hand: dict[str, int] = field(default_factory=dict)
    windows: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    seen: set[tuple[str, int, int | None, str]] = field(default_factory=set)

    def apply(self, record: Record) -> None:
        """Count one record."""
        row = record.before if record.op == "d" else record.after
        if not isinstance(row, dict):
            return
        identity = (record.table, row["id"], record.lsn, record.op)
        if identity in self.seen:
            return
        self.seen.add(identity)
        if record.table != "sale_line":
            return
        sign = -1 if record.op == "d" else 1
        units, key = sign * row["quantity_units"], record.key
        self.on_hand[key] = self.on_hand.get(key, 0) - units
        window = self.windows.setdefault((key, row["occurred_at"] // WINDOW_US), [0, 0, 0])
        window[0] += units
        window[1] += sign
        window[2] += sign * row["amount_minor"]
