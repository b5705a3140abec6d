"""Errors of the services.

```
LedgerError
├── ServiceError    a value of the request breaks a rule
└── Conflict        the data have changed since the person or program read them
    └── FormReused  the command id was used for another command already
```
"""

from typing import NoReturn

from typing_extensions import override

from ledger.messages import Translate, sentence, untranslated


class LedgerError(Exception):
    """Base class of the errors by which services refuse a command; nothing was written."""


class ServiceError(LedgerError):
    """Refusal of a value; nothing was written.

    `rule` is a text for people: the valid values, or the fault and the next step.
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(f"{field}: {rule}, got {value!r}")


class Conflict(LedgerError):
    """The data have changed, usually by another person; nothing was written.

    `what_changed` describes the change, as a sentence without its full stop. The sentence may begin
    in lower case, because `said` writes the capital letter.
    """

    def __init__(self, what_changed: str) -> None:
        self.what_changed = what_changed
        super().__init__(what_changed)

    @property
    def text(self) -> str:
        """The complete message in English."""
        return self.said(untranslated)

    def said(self, translate: Translate) -> str:
        """Return the complete message in the language of `translate`."""
        what = sentence(self.what_changed, translate)
        return translate("%(what)s. Nothing was written.") % {"what": what}


class FormReused(Conflict):
    """A command id that was received again with other values or from another person.

    `what_changed` is the complete message: it also states what was not written and the next step.
    """

    @override
    def said(self, translate: Translate) -> str:
        return sentence(self.what_changed, translate)


def refuse(field: str, value: object, rule: str) -> NoReturn:
    """Raise the `ServiceError` for a value that breaks `rule`."""
    raise ServiceError(field, value, rule)
