"""The base class of all forms, and forms that several desks share.

A form reads the fields of one command. After a refusal, the page shows the posted texts (`typed`)
again.
"""

from datetime import timedelta
from typing import Any

from django import forms

from ledger.kernel.errors import ServiceError
from ledger.kernel.proposals import LONGEST_SNOOZE
from webui.shell.fields import DayField, SignedNumberField, TextField, UuidField, WholeNumberField

# The texts of a form by the names of their inputs, without blanks at either end.
Typed = dict[str, str]


class PageForm(forms.Form):
    """The posted fields of one command. Of several wrong fields, the first one is refused."""

    @property
    def typed(self) -> Typed:
        """Every posted text, also of inputs that this form doesn't read."""
        return {name: str(self.data[name]).strip() for name in self.data}

    def text(self, name: str) -> str:
        """Return the posted text of one field, without blanks at either end."""
        return str(self.data.get(self.add_prefix(name), "")).strip()

    def cleaned(self) -> dict[str, Any]:
        """Return the values by field; raise `ServiceError` for the first refused field.

        The error of a hidden field names the form, because no person typed its value. If a rule
        concerns several fields, it adds its error to one of them. The refused value in the
        `ServiceError` is the entry `value` of this error's `params`, or else the typed text.
        """
        refused = self.errors.as_data()
        if not refused:
            return self.cleaned_data
        name = min(refused, key=[*self.fields].index)
        field, problem = self.fields[name], refused[name][0]
        named = "form" if field.widget.is_hidden else _text(field.label or name)
        value = (problem.params or {}).get("value", self.text(name))
        raise ServiceError(named, value, _text(problem.message))


def _text(text: object) -> str:
    """Return a `str` unchanged, because it may be a `Message`; convert Django's lazy texts."""
    return text if isinstance(text, str) else str(text)


class CommandForm(PageForm):
    """The command id, by which the ledger recognises a second click on the same form."""

    command_id = UuidField()


class DueForm(PageForm):
    """A new due day of an order line or a transfer."""

    due_on = DayField()


class DecisionForm(PageForm):
    """The fields of every decision on a proposal."""

    proposal = TextField()
    action = TextField()
    shown_revision = SignedNumberField()
    command_id = UuidField()
    reason = TextField()


class SnoozeForm(PageForm):
    """A snooze in whole days, up to the longest that the ledger accepts."""

    days = WholeNumberField(low=1, high=LONGEST_SNOOZE.days)

    def length(self) -> timedelta:
        """Return the length of the snooze, which begins now by the database's clock."""
        return timedelta(days=self.cleaned()["days"])


class NextCardForm(PageForm):
    """The card to show after a command, see `webui.shell.commands.next_cards`."""

    # Don't strip blanks: the text is the exact id of an element.
    next = forms.CharField(required=False, strip=False)
