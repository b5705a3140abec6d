"""The last change of a row or order, read from the row itself or from the audit log."""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel.refusal_text import moment_text, person
from ledger.messages import joined


@dataclass(frozen=True, slots=True)
class LastChange:
    """The time and actor of a write; `actor` is None for rules and imports."""

    at: datetime
    actor: str | None

    @property
    def author(self) -> str:
        """Person and time as text: `ann, 2026-11-21 10:42 UTC`."""
        return joined([person(self.actor), moment_text(self.at)])
