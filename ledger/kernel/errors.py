"""Errors of the services.

```
LedgerError
├── ServiceError    the request breaks a rule: field, value, rule
└── Conflict        the request was fine when it was made, but something has changed since
    └── FormReused  the command id has executed another command already
```
"""

from typing import NoReturn

from typing_extensions import override


class LedgerError(Exception):
    """Base of all errors that services raise deliberately."""


class ServiceError(LedgerError):
    """A value that a rule forbids; nothing was written."""

    def __init__(self, field: str, value: object, rule: str) -> None:
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(f"{field}: {rule}, got {value!r}")


class Conflict(LedgerError):
    """Another person or process was first; nothing was written. `what_changed` describes it."""

    def __init__(self, what_changed: str) -> None:
        self.what_changed = what_changed
        super().__init__(what_changed)

    @property
    def text(self) -> str:
        """The sentences that a page shows."""
        return f"{self.what_changed}. Nothing was written."


class FormReused(Conflict):
    """A command id that arrived again with other values or from another person.

    `what_changed` is complete: it states what was not written, and what to do next.
    """

    @property
    @override
    def text(self) -> str:
        """The sentences that a page shows."""
        return self.what_changed


def refuse(field: str, value: object, rule: str) -> NoReturn:
    """Raise the `ServiceError` for a value that `rule` forbids."""
    raise ServiceError(field, value, rule)
