"""Forms of the purchasing desks: read fields, do the command, keep the input of a refused one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from webui.desk import Refusal
from webui.ledger.services import Conflict, ServiceError

MOST_UNITS: Final = 1_000_000
_MOST_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Form:
    """What a page of ours has sent: its fields, the person, the command's id."""

    fields: dict[str, str]
    actor: str
    command_id: UUID

    def text(self, field: str) -> str:
        """A field without blanks around it; empty where it is missing."""
        return self.fields.get(field, "").strip()

    def whole(self, field: str, least: int = 1, most: int = MOST_UNITS) -> int:
        """A whole number within [least, most]."""
        text = self.text(field)
        readable = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
        if readable and least <= int(text) <= most:
            return int(text)
        rule = f"a whole number from {least} to {most}"
        raise ServiceError(field, text, rule)

    def whole_or_none(self, field: str, least: int = 0, most: int = MOST_UNITS) -> int | None:
        """A whole number, or None for an empty field."""
        return self.whole(field, least, most) if self.text(field) else None

    def day_or_none(self, field: str) -> date | None:
        """A day like 2026-11-21, or None for an empty field."""
        text = self.text(field)
        if not text:
            return None
        try:
            return date.fromisoformat(text)
        except ValueError as failure:
            rule = "a day like 2026-11-21"
            raise ServiceError(field, text, rule) from failure


def read_form(request: HttpRequest) -> Form:
    """The form; raises `ServiceError` for one that no page of ours has made."""
    fields = {name: str(request.POST[name]) for name in request.POST}
    try:
        command_id = UUID(fields.get("command_id", ""))
    except ValueError as failure:
        field, rule = "form", "the hidden fields of this page: reload it"
        raise ServiceError(field, str(failure), rule) from failure
    return Form(fields, request.user.get_username(), command_id)


def answer(
    request: HttpRequest,
    do: Callable[[Form], tuple[str, str]],
    show: Callable[[Refusal], HttpResponse],
) -> HttpResponse:
    """Do what the form asks, `do` giving (message, where to go); or show the page that refuses."""
    fields = {name: str(request.POST[name]) for name in request.POST}
    about = fields.get("line", "")
    try:
        message, back = do(read_form(request))
    except Conflict as conflict:
        text = f"{conflict.what_changed}. Nothing was written."
        return show(Refusal(about, text, fields, is_conflict=True))
    except ServiceError as error:
        return show(Refusal(about, sentence(error), fields, is_conflict=False))
    messages.success(request, message)
    return HttpResponseRedirect(back)


def sentence(error: ServiceError) -> str:
    """A refused value as a person reads it."""
    field = error.field.replace("_", " ").capitalize()
    return f"{field}: {error.rule}; got {error.value!r}."
