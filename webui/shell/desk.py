"""Commands on proposals and their refusals, for all desks that decide proposals.

A command id is generated when the form is rendered. The ledger stores the id, so a double click is
one command, and both clicks get the same result.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from webui.shell.commands import run_command
from webui.shell.forms import DecisionForm, Typed

_HIDDEN: Final = {
    *("csrfmiddlewaretoken", "command_id", "proposal", "shown_revision", "action"),
    *("destination", "sku", "next"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """A posted decision: the proposal, the revision that the page showed, and the person.

    `typed` has all posted texts. The form of each action reads further values from these texts.
    """

    proposal: str
    action: str
    shown_revision: int
    command_id: UUID
    reason: str
    actor: str
    typed: Typed


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a command on a proposal did nothing, and the input that the form keeps.

    `status` is 409 if something has changed since the page was rendered, else 422.
    """

    proposal: str
    message: str
    form: Typed
    status: int

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The person's input, for a page that no longer has the form of the command."""
        fields = [pair for pair in self.form.items() if pair[0] not in _HIDDEN and pair[1].strip()]
        return [(name.replace("_", " "), text) for name, text in fields]


def shown_values(current: Mapping[str, object], refusal: Refusal | None) -> str:
    """Return the JSON for the hidden field `shown`: the values that the person has seen.

    A page shows the current values, also after a conflict. After any other refusal, the form keeps
    the values of its first rendering. Otherwise a change that was made meanwhile by another person
    would be overwritten without a conflict.
    """
    if refusal is None or refusal.status == HTTPStatus.CONFLICT:
        return json.dumps(current)
    return refusal.form.get("shown", "")


def read_command(form: DecisionForm, actor: str) -> Command:
    """Return the command in the form; raise `ServiceError` if no page sends such a form."""
    return Command(**form.cleaned(), actor=actor, typed=form.typed)


def answer(
    request: HttpRequest,
    execute: Callable[[Command], str],
    show: Callable[[HttpRequest, Refusal], HttpResponse],
    back: str,
) -> HttpResponse:
    """Execute the form's command and redirect to `back`, or show the desk with the refusal."""
    form = DecisionForm(request.POST)

    def refused(message: str, status: int) -> HttpResponse:
        return show(request, Refusal(form.text("proposal"), message, form.typed, status))

    def work() -> str:
        return execute(read_command(form, request.user.get_username()))

    return run_command(request, work, refused, back)


def view_of(request: HttpRequest, views: Sequence[str]) -> str:
    """Return the view in the query string, or the first view."""
    wanted = request.GET.get("view", "")
    return wanted if wanted in views else views[0]
