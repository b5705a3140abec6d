"""The format of the server's answers: JSON with the version of its schema.

All refusals have the format `answer_problem`, with a text. The answers to unknown addresses, to
wrong methods and after internal errors have the same format.
"""

from collections.abc import Collection
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web

from cdc.contracts import answers as contract
from cdc.contracts.answers import Document, versioned
from streams.query.answers import Span
from streams.query.peers import Reply

RETRY_AFTER_S: Final = "1"
LONGEST_QUERY: Final = 2_048  # bytes of path and query; a key has at most a few hundred
LONGEST_TIME: Final = 16  # digits of epoch microseconds until the year 2286
_SHOWN: Final = 80
# A cached answer would show old numbers.
_NEVER_STORED: Final = {"Cache-Control": "no-store"}


class Refusal(Exception):
    """A query is refused with HTTP `status`. The client gets the message."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


def reply(kind: str, body: Document, *, status: int = HTTPStatus.OK) -> web.Response:
    """Return a JSON answer: `body` with the schema version of its `kind`."""
    headers = dict(_NEVER_STORED)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = RETRY_AFTER_S
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(
        body=orjson.dumps(versioned(kind, body)),
        status=status,
        headers=headers,
        content_type="application/json",
    )


def problem(status: int, text: str, about: Document | None = None) -> web.Response:
    """Return a refusal with HTTP `status`, the message `text` and the fields in `about`."""
    return reply(contract.PROBLEM, {"error": text} | (about or {}), status=status)


def refused(error: web.HTTPException, path: str, addresses: Collection[str]) -> web.Response:
    """Return the router's error (unknown address or wrong method) in the common format."""
    match error:
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            text = f"method {error.method} is not allowed here: expected {allowed}"
            answer = problem(error.status, text)
            answer.headers["Allow"] = allowed
            return answer
        case web.HTTPNotFound():
            known = ", ".join(addresses)
            return problem(error.status, f"no address {path!r:.{_SHOWN}}: expected one of {known}")
        case _:
            return problem(error.status, error.reason)


def forwarded(answer: Reply) -> web.Response:
    """Return another worker's answer unchanged."""
    headers = dict(_NEVER_STORED)
    if answer.retry_after is not None:
        headers["Retry-After"] = answer.retry_after
    return web.Response(
        body=answer.body, status=answer.status, headers=headers, content_type="application/json"
    )


def parameter(request: web.Request, name: str) -> str | None:
    """Return the value of a query parameter, or None if it is not given.

    Raises:
        Refusal: the parameter is given more than once.
    """
    found = request.query.getall(name, [])
    if len(found) > 1:
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{name} is given {len(found)} times: expected once")
    return found[0] if found else None


def refuse_unknown_parameters(request: web.Request, known: Collection[str]) -> None:
    """Raise `Refusal` if the request has a parameter other than those `known`.

    A misspelt parameter would otherwise be ignored.
    """
    for name in request.query:
        if name not in known:
            expected = " and ".join(known) or "none"
            text = f"no parameter {name!r:.{_SHOWN}} here: expected {expected}"
            raise Refusal(HTTPStatus.BAD_REQUEST, text)


def span_of(request: web.Request) -> Span:
    """Return the parameters `from` (inclusive) and `to` (exclusive), in µs since 1970 UTC.

    A parameter that is not given is None.

    Raises:
        Refusal: a parameter is not a whole number, or `from` is greater than `to`.
    """
    first_us, last_us = (_time(request, name) for name in ("from", "to"))
    if first_us is not None and last_us is not None and first_us > last_us:
        text = f"from must be at most to, got from={first_us} and to={last_us}"
        raise Refusal(HTTPStatus.BAD_REQUEST, text)
    return first_us, last_us


def _time(request: web.Request, name: str) -> int | None:
    text = parameter(request, name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_TIME):
        problem_text = f"{name} must be epoch microseconds, got {text!r:.{_SHOWN}}"
        raise Refusal(HTTPStatus.BAD_REQUEST, problem_text)
    return int(text)
