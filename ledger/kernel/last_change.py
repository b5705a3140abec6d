"""The last write of something, from a row or from the action log."""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel.refusal_text import moment_text, person


@dataclass(frozen=True, slots=True)
class LastChange:
    """The time and actor of a write; the actor of rules and imports is None."""

    at: datetime
    actor: str | None

    @property
    def author(self) -> str:
        """Person and time, for a sentence: `ann, 2026-11-21 10:42 UTC`."""
        return f"{person(self.actor)}, {moment_text(self.at)}"
