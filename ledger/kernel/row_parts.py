"""Parts that rows of several tables have in common, as base classes without fields.

A row declares the columns itself, so that they stay in the order of its table.
"""

from datetime import datetime

from ledger.kernel.refusal_text import moment_text, person


class Keyed:
    """A row of one item at one location."""

    __slots__ = ()
    inv_key: str
    location: str
    sku: str

    @property
    def key_columns(self) -> dict[str, str]:
        """The columns that every row of the same item has."""
        return {"inv_key": self.inv_key, "location": self.location, "sku": self.sku}


class Stamped:
    """A row that names its last write; `recorded_by` is None for rules and imports."""

    __slots__ = ()
    recorded_at: datetime
    recorded_by: str | None

    @property
    def version(self) -> str:
        """A text that changes with every write of the row."""
        return self.recorded_at.isoformat()

    @property
    def writer(self) -> str:
        """Name of the person who wrote the row last, for a sentence."""
        return person(self.recorded_by)

    @property
    def write_time(self) -> str:
        """Time of the last write, for a sentence."""
        return moment_text(self.recorded_at)
