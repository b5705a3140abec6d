"""The person, the time and the name of an action of the audit log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.refusal_text import person
from ledger.messages import gettext_noop

# Actions whose code differs from their name on pages.
_NAMES: Final = {"price_kill_switch": gettext_noop("stop of rule-made prices")}


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """Time, person and action of one entry of the audit log."""

    at: datetime
    actor: str | None
    action: str

    @property
    def who(self) -> str:
        """The name of the person, or "the system"."""
        return person(self.actor)

    @property
    def what(self) -> str:
        """The action in words: `approve count`."""
        return _NAMES.get(self.action, self.action.replace("_", " "))
