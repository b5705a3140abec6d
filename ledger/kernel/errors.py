"""Errors of the services.

```
LedgerError
├── ServiceError    the request breaks a rule: field, value, rule
└── Conflict        the request was fine when it was made, but something has changed since
    └── FormReused  the command id has executed another command already
```
"""

from typing import NoReturn


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


class FormReused(Conflict):
    """A command id that arrived again with other values or from another person.

    The text is complete: it states what was written and what to do next.
    """


def refuse(field: str, value: object, rule: str) -> NoReturn:
    """Raise the `ServiceError` for a value that `rule` forbids."""
    raise ServiceError(field, value, rule)
