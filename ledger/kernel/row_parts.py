"""Base classes for rows of several tables, with properties but without fields.

Each subclass declares the columns itself, so that its fields have the order of its table.
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
        """The columns `inv_key`, `location` and `sku`, for another row of the same item."""
        return {"inv_key": self.inv_key, "location": self.location, "sku": self.sku}


class Stamped:
    """A row with the time and author of its last write; `recorded_by` is None for programs."""

    __slots__ = ()
    recorded_at: datetime
    recorded_by: str | None

    @property
    def version(self) -> str:
        """A text that changes with every write of the row."""
        return self.recorded_at.isoformat()

    @property
    def writer(self) -> str:
        """The name of the person who wrote the row last, or "the system"."""
        return person(self.recorded_by)

    @property
    def write_time(self) -> str:
        """The time of the last write as text."""
        return moment_text(self.recorded_at)
