"""What every desk shares: read a form, do what it asks once, say what became of it.

A refusal shows the page again with the input in it: 409 if something has changed since the page was
rendered, 422 if the input breaks a rule.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from webui.ledger.services import Conflict, ServiceError
from webui.ledger.services.wording import names_text, refusal_text
from webui.readmodel.figures import money_text

Form = dict[str, str]
# As many as the dearest order and the largest id have; longer texts are not worth reading.
_MOST_DIGITS: Final = 12
_MOST_DIGITS_OF_IDS: Final = 18
_AMOUNT: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,2}))?")
_LONGEST_ID: Final = 200
_DAY_RULE: Final = "a day like 2026-11-21"
_NOT_OURS: Final = "this page is out of date: reload it"


def form_of(request: HttpRequest) -> Form:
    """The fields of the form, without blanks at the ends."""
    return {name: str(request.POST[name]).strip() for name in request.POST}


def asked(request: HttpRequest, name: str, longest: int) -> str:
    """A text of the address, cut short."""
    return str(request.GET.get(name, "")).strip()[:longest]


def asked_item(request: HttpRequest) -> Form:
    """Location and SKU of the item that the address names, empty where it names none."""
    return {"location": asked(request, "location", 24), "sku": asked(request, "sku", 32)}


def whole(
    form: Form, field: str, *, low: int = 0, high: int = 1_000_000, label: str | None = None
) -> int:
    """A whole number within [low, high] in a field of the form, which the page calls `label`."""
    text = form.get(field, "")
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and low <= int(text) <= high:
        return int(text)
    rule = f"a whole number from {low:,} to {high:,}"
    raise ServiceError(label or field, text, rule)


def money(form: Form, field: str, *, low: int = 0, high: int, label: str | None = None) -> int:
    """An amount as people write it, `6`, `6.49` or `1,234.50`, in minor units within [low, high].

    Commas are read only where `money_text` would write them: `6,49` and `6,495` are refused,
    because many countries write a little less than seven that way.
    """
    text = form.get(field, "")
    minor = _hundredths(text.replace(",", ""))
    if (
        minor is not None
        and low <= minor <= high
        and ("," not in text or text == money_text(minor))
    ):
        return minor
    rule = f"an amount from {money_text(low)} to {money_text(high)}, like 6.49"
    raise ServiceError(label or field, text, rule)


def days(form: Form, field: str, *, low: int = 0, high: int, label: str | None = None) -> int:
    """A span as people write it, `3`, `2.5` or `0.25` days, in hundredths of a day."""
    text = form.get(field, "")
    centidays = _hundredths(text)
    if centidays is not None and low <= centidays <= high:
        return centidays
    rule = f"days from {low // 100:,} to {high // 100:,}, like 2.5"
    raise ServiceError(label or field, text, rule)


def days_text(centidays: int) -> str:
    """A span as `days` reads it: `2.50`."""
    return f"{centidays // 100}.{centidays % 100:02}"


def _hundredths(text: str) -> int | None:
    """A number with at most two decimals, times a hundred; None for anything else."""
    found = _AMOUNT.fullmatch(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


def whole_or_none(form: Form, field: str, *, label: str | None = None) -> int | None:
    """A whole number from 0 on; None where nothing was typed."""
    return whole(form, field, label=label) if form.get(field) else None


def identity(form: Form, field: str) -> int:
    """A number from 0 on in a hidden field; raises `ServiceError` for a form that is not ours."""
    text = form.get(field, "")
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS_OF_IDS:
        return int(text)
    raise out_of_date(text)


def signed(form: Form, field: str) -> int:
    """A number in a hidden field, below zero too; raises `ServiceError` as `identity` does."""
    text = form.get(field, "")
    return -identity(form | {field: text[1:]}, field) if text[:1] == "-" else identity(form, field)


def out_of_date(value: str) -> ServiceError:
    """The refusal of a hidden field that no page of ours would send: a person can only reload."""
    return ServiceError("form", value, _NOT_OURS)


def command_of(form: Form) -> UUID:
    """The command id that was drawn when the form was rendered."""
    try:
        return UUID(form.get("command_id", ""))
    except ValueError as failure:
        raise out_of_date(form.get("command_id", "")) from failure


def shown_values(form: Form, names: Iterable[str]) -> dict[str, Any]:
    """The values that the page showed, of exactly these names; raises as `identity` does."""
    try:
        shown = json.loads(form.get("shown", ""))
    except (ValueError, RecursionError):
        shown = None
    if not isinstance(shown, dict) or set(shown) != set(names):
        raise out_of_date(form.get("shown", "")[:40])
    return shown


def changed_text(columns: Collection[str]) -> str:
    """What to tell a person whose form has moved these columns."""
    return f"Changed: {names_text(columns)}." if columns else "As before."


def moment(form: Form, field: str) -> datetime | None:
    """A UTC time as `datetime-local` sends it; None where nothing was typed."""
    text = form.get(field, "")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as failure:
        rule = "a date and a time, UTC"
        raise ServiceError(field, text, rule) from failure
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def day(form: Form, field: str) -> date | None:
    """A day as `date` sends it; None where nothing was typed."""
    text = form.get(field, "")
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as failure:
        raise ServiceError(field, text, _DAY_RULE) from failure


def needed_day(form: Form, field: str) -> date:
    """A day as `date` sends it, in a field that can't stay empty."""
    found = day(form, field)
    if found is None:
        raise ServiceError(field, "", _DAY_RULE)
    return found


def answered(
    request: HttpRequest,
    work: Callable[[], tuple[str, str]],
    show: Callable[[str, int], HttpResponse],
) -> HttpResponse:
    """Do `work`, which gives what to say and where to go, or `show` why not, with its status."""
    try:
        message, back = work()
    except Conflict as conflict:
        return show(f"{conflict.what_changed}. Nothing was written.", 409)
    except ServiceError as error:
        return show(refusal_text(error), 422)
    messages.success(request, message)
    return HttpResponseRedirect(back + _place(request))


def _place(request: HttpRequest) -> str:
    """The fragment of the card that the form names as the next one, empty without any."""
    card = request.POST.get("next", "")[:_LONGEST_ID]
    return f"#{quote(card, safe='')}" if card else ""


def next_cards(ids: Sequence[str]) -> dict[str, str]:
    """For each card of a list the one to go on with: the one behind it, before it for the last.

    A long desk must not begin at its top again with every decision.
    """
    behind = [*ids[1:], *ids[-2:-1]]
    return dict(zip(ids, behind, strict=False))


def attempt(
    request: HttpRequest,
    work: Callable[[], str],
    show: Callable[[str, int], HttpResponse],
    back: str,
) -> HttpResponse:
    """Do `work` and go `back` with what it says, or `show` why not, with the status of that."""
    return answered(request, lambda: (work(), back), show)
