"""What the desks of reorders and prices share: read a form, say it through a service, answer.

A command id is drawn when the form is rendered. The ledger keeps it, so a double click is one
command; the answer to both clicks is the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from webui.ledger.services import Conflict, ServiceError

LONGEST_SNOOZE_DAYS: Final = 90
_MOST_DIGITS: Final = 9
_HIDDEN: Final = {"csrfmiddlewaretoken", "command_id", "proposal", "shown_revision", "action"}


@dataclass(frozen=True, slots=True)
class Command:
    """What the form says: which proposal, as it was shown, by whom."""

    proposal: str
    action: str
    shown_revision: int
    command_id: UUID
    actor: str
    form: dict[str, str]

    def whole(self, field: str, most: int) -> int:
        """A whole number from 1 to `most` in a field of the form."""
        text = self.form.get(field, "").strip()
        if (
            text.isascii()
            and text.isdigit()
            and len(text) <= _MOST_DIGITS
            and 1 <= int(text) <= most
        ):
            return int(text)
        rule = f"a whole number from 1 to {most}"
        raise ServiceError(field, text, rule)

    def until(self, now: datetime | None = None) -> datetime:
        """The end of a snooze of so many days."""
        days = self.whole("days", LONGEST_SNOOZE_DAYS)
        # A minute less than the rule's longest, because the ledger's clock is not this one.
        return (now or datetime.now(tz=UTC)) + timedelta(days=days, minutes=-1)  # noqa: TID251 -- the web edge is where a person's "in 7 days" becomes a time


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command did nothing, beside the proposal it was for; the form keeps its input."""

    proposal: str
    message: str
    form: dict[str, str]
    is_conflict: bool

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the person had filled in, for a page that has no form to show it in any more."""
        fields = [pair for pair in self.form.items() if pair[0] not in _HIDDEN and pair[1].strip()]
        return [(name.replace("_", " "), text) for name, text in fields]

    @property
    def status(self) -> int:
        """409 if something has changed since the page was rendered, else 422."""
        return 409 if self.is_conflict else 422


def read_command(request: HttpRequest) -> Command:
    """The command in the form; raises `ServiceError` for one that this page did not make."""
    form = {name: str(request.POST[name]) for name in request.POST}
    try:
        command_id = UUID(form.get("command_id", ""))
        revision = int(form.get("shown_revision", ""))
    except ValueError as failure:
        field, rule = "form", "the hidden fields of this page: reload it"
        raise ServiceError(field, str(failure), rule) from failure
    actor = request.user.get_username()
    return Command(
        form.get("proposal", ""), form.get("action", ""), revision, command_id, actor, form
    )


def answer(
    request: HttpRequest,
    say: Callable[[Command], str],
    show: Callable[[HttpRequest, Refusal], HttpResponse],
    back: str,
) -> HttpResponse:
    """Do what the form asks and go `back` with a message, or show the desk with the refusal."""
    form: dict[str, Any] = {name: str(request.POST[name]) for name in request.POST}
    proposal = form.get("proposal", "")
    try:
        messages.success(request, say(read_command(request)))
    except Conflict as conflict:
        message = f"{conflict.what_changed}. Nothing was written."
        return show(request, Refusal(proposal, message, form, is_conflict=True))
    except ServiceError as error:
        message = (
            f"{error.field.replace('_', ' ').capitalize()}: {error.rule}; got {error.value!r}."
        )
        return show(request, Refusal(proposal, message, form, is_conflict=False))
    return HttpResponseRedirect(back)


def view_of(request: HttpRequest, views: Sequence[str]) -> str:
    """Which drawer of the desk the address names; the first one by default."""
    wanted = request.GET.get("view", "")
    return wanted if wanted in views else views[0]
