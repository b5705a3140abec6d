"""Events of decisions: as pages that begin after a cursor, or as a stream.

A stream reads Postgres once a second, because events of decisions are rows in Postgres. (Live
updates of web pages follow the changelogs instead.) For each read, one synchronous function reads
token, stores and events, and then closes the database connection. So an open stream holds no
connection while it waits.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Header, Query, Router, Schema
from pydantic import Field

from ledger.access.scope import within
from ledger.decisions.documents import cursor, event_document
from ledger.decisions.events import DecisionEvent, decision_events, newest_event, oldest_event
from ledger.kernel.transactions import database_now
from webui.accounts.api_tokens import DECISIONS_READ
from webui.accounts.roles import SEE
from webui.api.access import Caller, Token, caller_of, scope_of_caller
from webui.api.answers import (
    USUAL_ROWS,
    After,
    Limit,
    Location,
    currency,
    number_of,
)
from webui.api.problems import Problem
from webui.live.stream import HUB

NEWEST: Final = "newest"
POLL_S: Final = 1.0
PING_S: Final = 15.0
MOST_STREAMS: Final = 50
MOST_STREAMS_OF_TOKEN: Final = 5
_EVENTS_A_POLL: Final = 200
_LIST_AGAIN: Final = (
    "Get a new cursor with after=newest, list needs and proposed prices, then continue from that "
    "cursor."
)
router = Router(tags=["decisions"])


class ProposalState(Schema):
    """The proposal at the time of the event, with money in minor units.

    A need has no prices, and a proposed price has no quantities: these fields are null.
    """

    revision: int
    status: str
    supplier: str | None = None
    quantity_units: int | None = None
    decided_units: int | None = None
    cost_minor: int | None = None
    flags: list[str] = Field(default_factory=list)
    old_minor: int | None = None
    new_minor: int | None = None
    floor_minor: int | None = None
    signal: str | None = None
    reason: str | None = None
    decided_action: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    as_of: datetime | None = None


class OrderState(Schema):
    """An order as it was sent, with its value at cost in minor units."""

    supplier: str
    lines: int
    units: int
    value_minor: int
    sent_at: datetime
    sent_by: str | None
    is_automatic: bool


class Event(Schema):
    """A change of a need or of a proposed price, or the sending of an order.

    `cursor` is the position of the event, the same in pages and streams. Events of
    orders have `order`, no `proposal` and no `sku`.
    """

    cursor: str
    at: datetime
    kind: Literal["need", "price", "order"]
    change: Literal["opened", "revised", "decided", "snoozed", "closed", "sent"]
    id: str
    location: str
    sku: str | None
    currency: str
    proposal: ProposalState | None
    order: OrderState | None


class EventPage(Schema):
    """Events, the oldest first. Continue after `next`: at once if `more` is true, else later."""

    items: list[Event]
    next: str
    more: bool
    as_of: datetime


class EventFilters(Schema):
    """Filters of events. The first event is the one after the cursor `after`."""

    after: After = ""
    location: Location = ""
    kind: Annotated[Literal["", "need", "price", "order"], Field(description="Only this kind.")] = (
        ""
    )


class EventPageFilters(EventFilters):
    """The filters of a page of events, and its number of rows."""

    limit: Limit = USUAL_ROWS


@dataclass(slots=True)
class Following:
    """An open stream with its caller and filters. Its next events have ids above `after`."""

    caller: Caller
    location: str
    kind: str
    after: int


@dataclass(slots=True)
class Streams:
    """The open streams of this web process. Their number is limited, also for each token."""

    open: dict[int, int] = field(default_factory=dict)  # {`id()` of a stream: number of its token}

    def refusal(self, token: int) -> Problem | None:
        """Return the problem if this token may not open another stream now, else None."""
        if len(self.open) >= MOST_STREAMS:
            detail = f"{MOST_STREAMS} streams are open, which is the limit of one web process."
            problem = Problem(503, "too-many-streams", detail, "List pages of events instead.")
        elif list(self.open.values()).count(token) >= MOST_STREAMS_OF_TOKEN:
            detail = f"This token has {MOST_STREAMS_OF_TOKEN} open streams in this web process."
            problem = Problem(429, "too-many-streams", detail, "End one, or list pages of events.")
        else:
            return None
        problem.headers = {"Retry-After": "30"}
        return problem


STREAMS: Final = Streams()


@router.get(
    "/decisions",
    auth=Token(DECISIONS_READ, SEE),
    response=EventPage,
    operation_id="listDecisions",
)
def list_decisions(request: HttpRequest, given: Query[EventPageFilters]) -> EventPage:
    """List events after a cursor. `after=newest` returns no event, but the newest cursor."""
    as_of = database_now()
    after = _position(given.after)
    newest = newest_event()  # read first: the next query sees every event up to `newest`
    found = decision_events(
        after=after, location=given.location, kind=given.kind, rows=given.limit + 1
    )
    shown = found[: given.limit]
    last = shown[-1].id if shown else after
    more = len(found) > len(shown)
    following = cursor(str(last if more else max(newest, last)))
    return EventPage(
        items=[event_of(each) for each in shown], next=following, more=more, as_of=as_of
    )


def _position(after: str) -> int:
    """Return the id of the event after which the response begins.

    Without a cursor it is 0, and the response begins with the oldest stored event. The cursor `MA`
    encodes 0, too. But it is refused as soon as the first events have been deleted.

    Raises:
        Problem: events after the cursor were deleted, or the cursor is after the newest event
            (status 410).
    """
    if after == NEWEST:
        return newest_event()
    position = number_of(after)
    if position is None:
        return 0
    if position + 1 < oldest_event():
        detail = "Events after this cursor are older than 90 days and no longer kept."
        raise Problem(410, "events-gone", detail, _LIST_AGAIN)
    if position > newest_event():
        detail = "This cursor is after the newest event: an older backup was restored."
        raise Problem(410, "events-gone", detail, _LIST_AGAIN)
    return position


def event_of(event: DecisionEvent) -> Event:
    """Return an event as the API shows it."""
    return Event(**event_document(event, currency()))


@router.get(
    "/decisions/stream",
    auth=Token(DECISIONS_READ, SEE),
    operation_id="streamDecisions",
    openapi_extra={
        "responses": {
            200: {
                "description": "Events `decision`, each with its cursor as id and an Event as data."
                " An event `bye` has the reason for the end of the stream.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        }
    },
)
def stream_decisions(
    request: HttpRequest,
    given: Query[EventFilters],
    last_event_id: Annotated[
        str,
        Header(alias="Last-Event-ID", max_length=400, description="Continue after this event."),
    ] = "",
) -> HttpResponseBase:
    """Stream events as server-sent events until the client disconnects or loses access."""
    after = _position(last_event_id or given.after or NEWEST)
    connection.close()
    caller = caller_of(request)
    problem = STREAMS.refusal(caller.token)
    if problem is not None:
        raise problem
    following = Following(caller, given.location, given.kind, after)
    response = StreamingHttpResponse(_follow(following), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _follow(following: Following) -> AsyncIterator[bytes]:
    # Check again: other requests may have passed the first check before their streams began.
    if STREAMS.refusal(following.caller.token) is not None:
        yield _bye("too many streams are open")
        return
    STREAMS.open[id(following)] = following.caller.token
    try:
        yield b"retry: 1000\n\n"
        pinged_at = time.monotonic()
        while not HUB.closing:
            found = await sync_to_async(_poll)(following)
            if isinstance(found, str):
                yield _bye(found)
                return
            for event in found:
                yield _frame(event)
            if time.monotonic() - pinged_at >= PING_S:
                pinged_at = time.monotonic()
                yield b": still here\n\n"
            if len(found) < _EVENTS_A_POLL:
                await asyncio.sleep(POLL_S)
    finally:
        STREAMS.open.pop(id(following), None)


def _poll(following: Following) -> list[Event] | str:
    """Return the next events, and set `following.after` to the id up to which events were read.

    Return the reason for the end of the stream if the token is no longer valid, or if its owner has
    lost access to the stream's location.
    """
    try:
        scope = scope_of_caller(following.caller.token, following.caller.user.pk)
        if scope is None:
            return "the token has ended"
        if following.location and not scope.allows(following.location):
            return f"{following.location} is not a location of the account any more"
        newest = newest_event()  # read first: the next query sees every event up to `newest`
        with within(scope):
            found = decision_events(
                after=following.after,
                location=following.location,
                kind=following.kind,
                rows=_EVENTS_A_POLL,
            )
        last = found[-1].id if found else following.after
        following.after = last if len(found) == _EVENTS_A_POLL else max(newest, last)
        return [event_of(event) for event in found]
    finally:
        connection.close()


def _bye(reason: str) -> bytes:
    return f"event: bye\ndata: {json.dumps({'reason': reason})}\n\n".encode()


def _frame(event: Event) -> bytes:
    fields: dict[str, Any] = {"id": event.cursor, "event": "decision"}
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{head}data: {event.model_dump_json()}\n\n".encode()
