"""Refusals of the API as problem details (RFC 9457): what happened, what was kept, what to do next.

This module has a problem type for each refusal of a service. `Frame` converts every other response
below `/api/` with status 400 or above into problem details, for example Django's 404.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from ledger.access.scope import OutOfScope, RowOutOfScope
from ledger.kernel.errors import Conflict, FormReused, ServiceError
from ledger.kernel.refusal_text import LONGEST_VALUE, refusal_text
from ledger.ordering.plausibility import ImplausibleUnits
from ledger.pricing.plausibility import ImplausiblePrice
from webui.accounts.refusals import REASON

MEDIA_TYPE: Final = "application/problem+json"
_MOST_ERRORS: Final = 20
URN: Final = "urn:retail-inventory:problem:"
# Field and rule of errors that services raise for an unknown id. The API answers them with 404.
_MISSING: Final = frozenset(
    {
        ("reorder_id", "no such proposal"),
        ("proposal_id", "no such proposal"),
        ("purchase_order_line_id", "no such order line"),
        ("count_id", "no such count"),
        ("shipment_line_id", "no such receipt from a supplier"),
        ("shipment_line_id", "no such arriving transfer"),
        ("webhook_id", "no such webhook"),
    }
)
# Values of `action` in the bodies of commands.
_TAGS: Final = frozenset(
    {
        *("approve", "reject", "snooze", "resume", "send", "change", "delete", "confirm", "ship"),
        *("cancel", "move_due_day", "restore", "set", "roll_back", "stop", "release"),
        *("refuse", "recount", "receive", "correct", "plan", "rotate", "test", "replay"),
    }
)
_NEXT: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "Correct the request and send it again.",
        403: "Use a token whose owner and scopes allow this.",
        404: "Check the address. A list shows the ids that this token may read.",
        405: "Use a method that the header Allow names.",
        500: "Send the request again with the same Idempotency-Key. Report it if it fails again.",
        503: "Wait for the seconds in Retry-After, then send the request again with the same key.",
    }
)


class Problem(Exception):
    """A refusal as the API sends it. The errors of services are converted into this exception.

    `name` is the kind of the problem: its member `type` without the prefix `URN`. `further` has
    additional members of the document, for example `field`.
    """

    def __init__(
        self, status: int, name: str, detail: str, next_step: str, **further: object
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.name = name
        self.detail = detail
        self.next_step = next_step
        self.headers: dict[str, str] = {}
        self.further = further


def answer_problem(problem: Problem) -> HttpResponse:
    """Return the HTTP response for a problem, as JSON."""
    document = {
        "type": URN + problem.name,
        "title": problem.name.replace("-", " ").capitalize(),
        "status": problem.status,
        "detail": problem.detail,
        "next_step": problem.next_step,
        **problem.further,
    }
    content = json.dumps(document, default=str)
    return HttpResponse(
        content, status=problem.status, content_type=MEDIA_TYPE, headers=problem.headers
    )


def problem_of_status(status: int, detail: str = "") -> Problem:
    """Return the problem for a response with this status; `detail` replaces the default detail."""
    phrase = HTTPStatus(status).phrase
    default = "The server failed. A change was written as a whole or not at all."
    # A request with a status below 500 is refused before anything is written.
    kept = default if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Nothing was changed."
    name = phrase.lower().replace(" ", "-")
    return Problem(status, name, detail or f"{phrase}. {kept}", _NEXT.get(status, _NEXT[400]))


def seen(value: object) -> str:
    """Return a refused value as text, cut after 60 characters; a time is in ISO 8601."""
    if isinstance(value, date):  # a day, or a `datetime`
        value = value.isoformat()
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def of_value(refusal: ServiceError) -> Problem:
    """Return the problem of a value that a rule forbids, with field, value and rule (status 422).

    For an unknown id, return the problem of `of_missing` (status 404).
    """
    if (refusal.field, refusal.rule) in _MISSING:
        return of_missing()
    named = {"field": refusal.field, "value": seen(refusal.value), "rule": refusal.rule}
    detail = f"{refusal_text(refusal)} Nothing was changed."
    match refusal:
        case ImplausiblePrice():
            next_step = 'If the price is meant, send it again with "confirmed": true and a new key.'
        case ImplausibleUnits():
            next_step = (
                'If the quantity is meant, send it again with "confirmed": true and a new key.'
            )
        case _:
            next_step = "Correct this field and send the request again."
    return Problem(422, "refused-value", detail, next_step, **named)


def of_missing() -> Problem:
    """Return the same problem for an unknown id and for an id of another store.

    So a client can't find out which ids exist in other stores.
    """
    detail = "No record of this token's locations has this id. Nothing was changed."
    return Problem(404, "not-found", detail, _NEXT[404])


def of_conflict(refusal: Conflict) -> Problem:
    """Return the problem of a decision on outdated data or a reused `Idempotency-Key` (409)."""
    if isinstance(refusal, FormReused):
        named = {"field": "Idempotency-Key"}
        detail = "This Idempotency-Key was used for another command. Nothing was changed."
        return Problem(409, "key-reused", detail, "Send the command with a new key.", **named)
    next_step = "Read the resource again, decide by its present values, and use a new key."
    return Problem(409, "changed-meanwhile", refusal.text, next_step)


def of_forbidden(refusal: PermissionDenied) -> Problem:
    """Return the problem of a missing right, or of a record or location of another store."""
    match refusal:
        case RowOutOfScope():
            return of_missing()
        case OutOfScope():
            next_step = "Use a location of the token's owner."
            return Problem(403, "other-store", str(refusal), next_step)
        case _:
            return problem_of_status(403, str(refusal))


def of_parameters(refusal: ValidationError) -> Problem:
    """Return the problem of fields that break the schema (status 400).

    `field` is the first such field. `errors` lists at most 20 of them, because one body can have
    thousands.
    """
    return _malformed([_error(error) for error in refusal.errors[:_MOST_ERRORS]])


def malformed(field: str, value: object, rule: str) -> Problem:
    """Return the problem of one field or parameter that breaks the schema."""
    return _malformed([{"field": field, "value": seen(value), "rule": rule}])


def _malformed(errors: Sequence[Mapping[str, str]]) -> Problem:
    detail = f"{errors[0]['field']}: {errors[0]['rule']}. Nothing was changed."
    next_step = "Correct the fields in `errors`. /api/v1/openapi.json describes each."
    return Problem(400, "malformed", detail, next_step, **errors[0], errors=errors)


def _error(error: Mapping[str, Any]) -> dict[str, str]:
    source, *place = [str(part) for part in error["loc"]]
    if source == "body":
        # Before the field, `loc` has the parameter of the view, and the `action` if the body may be
        # one of several commands.
        place = place[2:] if place[1:] and place[1] in _TAGS else place[1:]
    return {
        "field": ".".join(place) or "body",
        "value": seen(error.get("input")),
        "rule": str(error["msg"]),
    }


def register(api: NinjaAPI) -> None:
    """Register a handler at `api` for each exception that the API converts into a problem."""

    def handle(request: HttpRequest, refusal: Exception | type[Exception]) -> HttpResponse:
        assert isinstance(refusal, Exception)  # noqa: S101 -- ninja raises no classes
        problem = problem_of(refusal)
        setattr(request, REASON, problem.detail)
        return answer_problem(problem)

    kinds: tuple[type[Exception], ...] = (Problem, ServiceError, Conflict, ValidationError)
    for kind in (*kinds, PermissionDenied, Http404, HttpError):
        api.add_exception_handler(kind, handle)


def problem_of(refusal: Exception) -> Problem:
    """Return the problem of an exception for which `register` has a handler."""
    match refusal:
        case Problem():
            return refusal
        case ServiceError():
            return of_value(refusal)
        case Conflict():
            return of_conflict(refusal)
        case ValidationError():
            return of_parameters(refusal)
        case PermissionDenied():
            return of_forbidden(refusal)
        case HttpError():
            return problem_of_status(refusal.status_code, f"{refusal}. Nothing was changed.")
        case _:
            return problem_of_status(404, f"{refusal}. Nothing was changed.")
