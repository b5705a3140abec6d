"""What desks of proposals share: a word on one of them as it was shown, and the refusal of it.

A command id is drawn when the form is rendered. The ledger keeps it, so a double click is one
command; the answer to both clicks is the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from webui.commands import attempt, command_of, form_of, signed, whole

LONGEST_SNOOZE_DAYS: Final = 90
_HIDDEN: Final = {
    *("csrfmiddlewaretoken", "command_id", "proposal", "shown_revision", "action"),
    *("destination", "sku", "next"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """What the form says: which proposal, as it was shown, by whom."""

    proposal: str
    action: str
    shown_revision: int
    command_id: UUID
    actor: str
    form: dict[str, str]

    def until(self, now: datetime | None = None) -> datetime:
        """The end of a snooze of so many days."""
        days = whole(self.form, "days", low=1, high=LONGEST_SNOOZE_DAYS)
        # A minute less than the rule's longest, because the ledger's clock is not this one.
        return (now or datetime.now(tz=UTC)) + timedelta(days=days, minutes=-1)  # noqa: TID251 -- the web edge is where a person's "in 7 days" becomes a time


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command did nothing, beside the proposal it was for; the form keeps its input.

    `status` is 409 if something has changed since the page was rendered, else 422.
    """

    proposal: str
    message: str
    form: dict[str, str]
    status: int

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the person had filled in, for a page that has no form to show it in any more."""
        fields = [pair for pair in self.form.items() if pair[0] not in _HIDDEN and pair[1].strip()]
        return [(name.replace("_", " "), text) for name, text in fields]


def read_command(request: HttpRequest) -> Command:
    """The command in the form; raises `ServiceError` for one that this page did not make."""
    form = form_of(request)
    return Command(
        form.get("proposal", ""),
        form.get("action", ""),
        signed(form, "shown_revision"),
        command_of(form),
        request.user.get_username(),
        form,
    )


def answer(
    request: HttpRequest,
    say: Callable[[Command], str],
    show: Callable[[HttpRequest, Refusal], HttpResponse],
    back: str,
) -> HttpResponse:
    """Do what the form asks and go `back` with a message, or show the desk with the refusal."""
    form = form_of(request)

    def refused(message: str, status: int) -> HttpResponse:
        return show(request, Refusal(form.get("proposal", ""), message, form, status))

    return attempt(request, lambda: say(read_command(request)), refused, back)


def view_of(request: HttpRequest, views: Sequence[str]) -> str:
    """Which drawer of the desk the address names; the first one by default."""
    wanted = request.GET.get("view", "")
    return wanted if wanted in views else views[0]
