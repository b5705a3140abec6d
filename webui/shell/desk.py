"""Commands on proposals, for all desks that decide them: the parsed form, and its refusal.

A command id is generated when the form is rendered. The ledger stores it, so a double click is one
command, and both clicks get the same answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from webui.shell.commands import command_id_of, form_of, parse_int, parse_signed_int, run_command

LONGEST_SNOOZE_DAYS: Final = 90
_HIDDEN: Final = {
    *("csrfmiddlewaretoken", "command_id", "proposal", "shown_revision", "action"),
    *("destination", "sku", "next"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """A posted decision: the proposal, the revision that was shown, and the person."""

    proposal: str
    action: str
    shown_revision: int
    command_id: UUID
    actor: str
    form: dict[str, str]

    def until(self, now: datetime | None = None) -> datetime:
        """Return the end of a snooze of `days` days, a field of the form, from 1 to 90."""
        days = parse_int(self.form, "days", low=1, high=LONGEST_SNOOZE_DAYS)
        # One minute less than the rule's maximum, because the ledger's clock differs from this one.
        return (now or datetime.now(tz=UTC)) + timedelta(days=days, minutes=-1)  # noqa: TID251 -- the web edge is where a person's "in 7 days" becomes a time


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a command on a proposal did nothing; the form keeps its input.

    `status` is 409 if something has changed since the page was rendered, else 422.
    """

    proposal: str
    message: str
    form: dict[str, str]
    status: int

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The input of the person, for a page that no longer has a form to show it in."""
        fields = [pair for pair in self.form.items() if pair[0] not in _HIDDEN and pair[1].strip()]
        return [(name.replace("_", " "), text) for name, text in fields]


def read_command(request: HttpRequest) -> Command:
    """Return the command in the form; raise `ServiceError` if this application didn't send it."""
    form = form_of(request)
    return Command(
        form.get("proposal", ""),
        form.get("action", ""),
        parse_signed_int(form, "shown_revision"),
        command_id_of(form),
        request.user.get_username(),
        form,
    )


def answer(
    request: HttpRequest,
    execute: Callable[[Command], str],
    show: Callable[[HttpRequest, Refusal], HttpResponse],
    back: str,
) -> HttpResponse:
    """Execute the form's command and redirect to `back`, or show the desk with the refusal."""
    form = form_of(request)

    def refused(message: str, status: int) -> HttpResponse:
        return show(request, Refusal(form.get("proposal", ""), message, form, status))

    return run_command(request, lambda: execute(read_command(request)), refused, back)


def view_of(request: HttpRequest, views: Sequence[str]) -> str:
    """Return the view in the query string, or the first view."""
    wanted = request.GET.get("view", "")
    return wanted if wanted in views else views[0]
