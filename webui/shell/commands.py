"""Form parsing and command handling for all desks: read a form, execute it once, show the result.

A refusal shows the page again with its input: status 409 if something has changed since the page
was rendered, 422 if the input breaks a rule.
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

from ledger.kernel.refusal_text import names_text, refusal_text
from ledger.services import Conflict, ServiceError
from webui.readmodel.figures import money_text
from webui.shell.forms import NextCardForm

Form = dict[str, str]
# Enough digits for the largest order amount and the largest id; longer texts are refused.
_MOST_DIGITS: Final = 12
_MOST_DIGITS_OF_IDS: Final = 18
_AMOUNT: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,2}))?")
_LONGEST_ID: Final = 200
_DAY_RULE: Final = "a day like 2026-11-21"
_RELOAD: Final = "this page is out of date: reload it"


def form_of(request: HttpRequest) -> Form:
    """Return the fields of the form, without blanks at either end."""
    return {name: str(request.POST[name]).strip() for name in request.POST}


def query_text(request: HttpRequest, name: str, longest: int) -> str:
    """Return a query parameter, stripped and cut to `longest` characters."""
    return str(request.GET.get(name, "")).strip()[:longest]


def item_from_query(request: HttpRequest) -> Form:
    """Return location and SKU from the query string, empty where it has none."""
    return {"location": query_text(request, "location", 24), "sku": query_text(request, "sku", 32)}


def parse_int(
    form: Form, field: str, *, low: int = 0, high: int = 1_000_000, label: str | None = None
) -> int:
    """Return a whole number within [low, high] from a form field, which the page calls `label`."""
    text = form.get(field, "")
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and low <= int(text) <= high:
        return int(text)
    rule = f"a whole number from {low:,} to {high:,}"
    raise ServiceError(label or field, text, rule)


def parse_money(
    form: Form, field: str, *, low: int = 0, high: int, label: str | None = None
) -> int:
    """Return an amount like `6`, `6.49` or `1,234.50` in minor units within [low, high].

    Commas are accepted only where `money_text` would write them. `6,49` and `6,495` are refused,
    because in many countries a comma is the decimal separator.
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


def parse_days(form: Form, field: str, *, low: int = 0, high: int, label: str | None = None) -> int:
    """Return a span like `3`, `2.5` or `0.25` days in hundredths of a day."""
    text = form.get(field, "")
    centidays = _hundredths(text)
    if centidays is not None and low <= centidays <= high:
        return centidays
    rule = f"days from {low // 100:,} to {high // 100:,}, like 2.5"
    raise ServiceError(label or field, text, rule)


def days_text(centidays: int) -> str:
    """Return the text that `parse_days` reads, with two decimals: `2.50`."""
    return f"{centidays // 100}.{centidays % 100:02}"


def _hundredths(text: str) -> int | None:
    """Return a number with at most two decimals times 100, or None for any other text."""
    found = _AMOUNT.fullmatch(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


def parse_optional_int(form: Form, field: str, *, label: str | None = None) -> int | None:
    """Return a whole number from 0 on, or None for an empty field."""
    return parse_int(form, field, label=label) if form.get(field) else None


def parse_id(form: Form, field: str) -> int:
    """Return the number in a hidden field; raise `ServiceError` for an outdated or foreign form."""
    text = form.get(field, "")
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS_OF_IDS:
        return int(text)
    raise out_of_date(text)


def parse_signed_int(form: Form, field: str) -> int:
    """Return the number in a hidden field, negative ones too; raise as `parse_id` does."""
    text = form.get(field, "")
    return -parse_id(form | {field: text[1:]}, field) if text[:1] == "-" else parse_id(form, field)


def out_of_date(value: str) -> ServiceError:
    """Return the refusal of a hidden field with an impossible value: reload the page."""
    return ServiceError("form", value, _RELOAD)


def command_id_of(form: Form) -> UUID:
    """Return the command id that was generated when the form was rendered."""
    try:
        return UUID(form.get("command_id", ""))
    except ValueError as failure:
        raise out_of_date(form.get("command_id", "")) from failure


def shown_values(form: Form, names: Iterable[str]) -> dict[str, Any]:
    """Return the values that the page showed, under exactly these names; raise as `parse_id`."""
    try:
        shown = json.loads(form.get("shown", ""))
    except (ValueError, RecursionError):
        shown = None
    if not isinstance(shown, dict) or set(shown) != set(names):
        raise out_of_date(form.get("shown", "")[:40])
    return shown


def changed_text(columns: Collection[str]) -> str:
    """Return the message that names the changed columns, or that nothing changed."""
    return f"Changed: {names_text(columns)}." if columns else "As before."


def parse_datetime(form: Form, field: str) -> datetime | None:
    """Return a UTC time sent by a `datetime-local` input, or None for an empty field."""
    text = form.get(field, "")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    # An offset moves the first and the last day out of the calendar.
    except (ValueError, OverflowError) as failure:
        rule = "a date and a time, UTC"
        raise ServiceError(field, text, rule) from failure


def parse_date(form: Form, field: str) -> date | None:
    """Return a day sent by a `date` input, or None for an empty field."""
    text = form.get(field, "")
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as failure:
        raise ServiceError(field, text, _DAY_RULE) from failure


def parse_required_date(form: Form, field: str) -> date:
    """Return a day sent by a `date` input; raise `ServiceError` for an empty field."""
    found = parse_date(form, field)
    if found is None:
        raise ServiceError(field, "", _DAY_RULE)
    return found


def run_and_redirect(
    request: HttpRequest,
    work: Callable[[], tuple[str, str]],
    show: Callable[[str, int], HttpResponse],
) -> HttpResponse:
    """Execute `work` and redirect with its message, or `show` the refusal with its status.

    `work` returns the message and the address of the next page.
    """
    try:
        message, back = work()
    except Conflict as conflict:
        return show(f"{conflict.what_changed}. Nothing was written.", 409)
    except ServiceError as error:
        return show(refusal_text(error), 422)
    messages.success(request, message)
    return HttpResponseRedirect(back + _fragment(request))


def _fragment(request: HttpRequest) -> str:
    """Return the URL fragment of the next card that the form names, or an empty string."""
    card = NextCardForm(request.POST).cleaned()["next"][:_LONGEST_ID]
    return f"#{quote(card, safe='')}" if card else ""


def next_cards(ids: Sequence[str]) -> dict[str, str]:
    """Return for each card the card to show after its decision: the next one, or the previous.

    Without it, a long desk would scroll to its top after every decision. The last card gets the
    previous one.
    """
    behind = [*ids[1:], *ids[-2:-1]]
    return dict(zip(ids, behind, strict=False))


def run_command(
    request: HttpRequest,
    work: Callable[[], str],
    show: Callable[[str, int], HttpResponse],
    back: str,
) -> HttpResponse:
    """Execute `work` and redirect to `back` with its message, or `show` the refusal."""
    return run_and_redirect(request, lambda: (work(), back), show)
