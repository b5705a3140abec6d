"""Counts: record them blind; list, approve and refuse waiting counts.

A person who counts blind doesn't see the expected units. The list of waiting counts shows them, so
it requires the right to approve counts. A program with the scope `counts:write` alone never sees
expected units.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, assert_never

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field, StrictInt

from inventory.tables.columns import QUANTITY_MAX
from ledger.counts.recorded import CountedItem, record_counts
from ledger.counts.sheets import MOST_ENTRIES
from ledger.services import approve_waiting_count, ask_for_recount, refuse_waiting_count
from webui.accounts.api_tokens import COUNTS_APPROVE, COUNTS_WRITE
from webui.accounts.roles import APPROVE_COUNTS, COUNT
from webui.api.access import Token, caller_of
from webui.api.answers import (
    USUAL_ROWS,
    WHOLE,
    After,
    CommandId,
    Given,
    Limit,
    Location,
    Moment,
    Text,
    currency,
    described,
    position_of,
    refuse_cursor,
    split_page,
)
from webui.desks.counts.queries import waiting_counts

router = Router(tags=["counts"])
CountId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a waiting count.")]
CountedUnits = Annotated[StrictInt, Field(ge=0, le=QUANTITY_MAX), WHOLE]
Sku = Annotated[Text, Field(min_length=1, max_length=32)]


class Counted(Given):
    """Units of an item on the shelf. Without `counted_at`, the time of the count is now.

    `counted_at` is at most 48 hours ago, and at most 300 s in the future.
    """

    sku: Sku
    units: CountedUnits
    counted_at: Moment | None = None


class RecordCounts(Given):
    """Counts of one location. Units of equal SKUs add up: an item can lie on two shelves."""

    location: Annotated[Text, Field(min_length=1, max_length=24)]
    counts: Annotated[list[Counted], Field(min_length=1, max_length=MOST_ENTRIES)]


class CountRecorded(Schema):
    """The id of the waiting count of an item."""

    id: int
    sku: str


class CountsRecorded(Schema):
    """The counts that now wait for another person's approval, in the order of SKUs."""

    location: str
    counts: list[CountRecorded]


class WaitingCount(Schema):
    """A waiting count, with the units expected at its time.

    `value_minor` is the variance times the cost, null if the cost isn't known. If this is a second
    count, `first_units` and `first_by` are the units and the person of the count that it replaced.

    A count with `needs_recount` can't be approved: a second blind count of the item replaces it.
    """

    id: int
    location: str
    sku: str
    name: str
    kind: str
    units: int
    expected_units: int
    variance_units: int
    tolerance_units: int
    value_minor: int | None
    currency: str
    counted_by: str | None
    counted_at: datetime
    first_units: int | None
    first_by: str | None
    needs_recount: bool


class WaitingPage(Schema):
    """Waiting counts by location, the oldest first."""

    items: list[WaitingCount]
    next: str | None


class WaitingFilters(Schema):
    """Filters of the list."""

    location: Location = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


class ApproveCount(Given):
    """Approve a count.

    `expected_units` repeats the value that the client read. The status is 409 if it has changed.
    """

    action: Literal["approve"]
    expected_units: StrictInt


class RefuseCount(Given):
    """Refuse a count. Stock doesn't change."""

    action: Literal["refuse"]
    reason: Annotated[Text, Field(min_length=1)]


class RecountItem(Given):
    """Require a second blind count of the item before an approval."""

    action: Literal["recount"]


CountCommand = Annotated[ApproveCount | RefuseCount | RecountItem, Field(discriminator="action")]


class CountDecided(Schema):
    """The result of a decision. `variance_units` is counted minus expected units."""

    count_id: int
    outcome: Literal["approved", "refused", "recount"]
    expected_units: int | None = None
    variance_units: int | None = None


@router.get(
    "/counts",
    auth=Token(COUNTS_APPROVE, APPROVE_COUNTS),
    response=WaitingPage,
    operation_id="listWaitingCounts",
)
def list_waiting_counts(request: HttpRequest, given: Query[WaitingFilters]) -> WaitingPage:
    """List the counts that wait for a decision."""
    found = waiting_counts(location=given.location, after=_place(given.after), rows=given.limit + 1)
    rows, following = split_page(found, given.limit, lambda row: f"{row.location}|{row.id}")
    items = [
        described(WaitingCount, row, currency=currency(), needs_recount=row.is_over) for row in rows
    ]
    return WaitingPage(items=items, next=following)


def _place(after: str) -> tuple[str, int]:
    """Return location and id of the previous page's last count; ("", 0) without a cursor."""
    location, _, number = position_of(after).partition("|")
    if not after:
        return "", 0
    if not number.isascii() or not number.isdigit() or int(number) >= 2**63:
        refuse_cursor(after)
    return location, int(number)


@router.post(
    "/counts", auth=Token(COUNTS_WRITE, COUNT), response=CountsRecorded, operation_id="recordCounts"
)
def record(request: HttpRequest, body: RecordCounts, command_id: CommandId) -> CountsRecorded:
    """Record counts of a location; each waits for the approval of another person.

    A count replaces the waiting counts of its item. If one item is refused, nothing is recorded.
    """
    done = record_counts(
        location=body.location,
        items=[CountedItem(one.sku, one.units, one.counted_at) for one in body.counts],
        actor=caller_of(request).name,
        command_id=command_id,
    )
    counts = [CountRecorded(id=number, sku=sku) for sku, number in sorted(done.count_ids.items())]
    return CountsRecorded(location=body.location, counts=counts)


@router.post(
    "/counts/{int:count_id}",
    auth=Token(COUNTS_APPROVE, APPROVE_COUNTS),
    response=CountDecided,
    operation_id="decideCount",
)
def decide_count(
    request: HttpRequest, count_id: CountId, body: CountCommand, command_id: CommandId
) -> CountDecided:
    """Approve or refuse a waiting count, or require a second blind count of its item."""
    actor = caller_of(request).name
    common: dict[str, Any] = {"count_id": count_id, "actor": actor, "command_id": command_id}
    match body:
        case ApproveCount():
            done = approve_waiting_count(**common, shown_expected_units=body.expected_units)
            return described(CountDecided, done, outcome="approved")
        case RefuseCount():
            refuse_waiting_count(**common, reason=body.reason)
            return CountDecided(count_id=count_id, outcome="refused")
        case RecountItem():
            ask_for_recount(**common)
            return CountDecided(count_id=count_id, outcome="recount")
        case _:
            assert_never(body)
