"""Adjustments that people request. Small ones are booked at once, large ones need two people.

The reason decides whether units are added or removed; people never type a sign. The value of an
adjustment is its units times the item's cost. If the value is above the limit, or the cost is
unknown, the request waits in `app.adjustment_request`. The request changes stock when another
person approves it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from inventory.tables.columns import AMOUNT_MAX
from inventory.tables.stock_adjustment import SIGNS as ADJUSTMENT_SIGNS
from ledger.access.scope import require_company
from ledger.counts.adjustment_request import decide_request, locked_request
from ledger.counts.service import Adjust, book_adjustment
from ledger.items.names import check_known, check_location
from ledger.kernel import checks
from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Written, run_command
from ledger.kernel.last_change import LastChange
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    database_now,
    execute,
    fetch_value,
    ledger_transaction,
    log_action,
)
from ledger.kernel.unscoped_rows import R, read_one
from ledger.messages import Message

_ACTION: Final = "adjustment_limit"
_LAST_CHANGE: Final = """
SELECT at, actor FROM app.action_log WHERE subject = 'settings' AND action = %s
ORDER BY id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Booked:
    """A requested adjustment that was booked at once, and its value at cost in minor units."""

    adjustment_id: int
    value_minor: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A requested adjustment that waits for another person.

    `value_minor` is its value at cost in minor units, None if the cost is unknown.
    """

    request_id: int
    value_minor: int | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The stored result of a command: the id of the booked adjustment or of the waiting request.

    `value` is the value at cost in minor units, None if the cost is unknown.
    """

    adjustment: int | None
    request: int | None
    value: int | None


@dataclass(frozen=True, slots=True)
class _LimitInForce:
    """The adjustment limit in minor units, and author and time of the last change of settings."""

    adjustment_limit_minor: int
    updated_by: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class _CostAndLimit:
    """The adjustment limit and the cost of one unit of an item, in minor units.

    `cost_minor` is None if the cost is unknown.
    """

    limit_minor: int
    cost_minor: int | None


def on_hand_sign(reason: str) -> int:
    """Return the change of on-hand units if one unit is adjusted for this reason: +1, −1 or 0."""
    return ADJUSTMENT_SIGNS[reason][0]


def unavailable_sign(reason: str) -> int:
    """Return the change of unavailable units if one unit is adjusted for this reason: +1, −1, 0."""
    return ADJUSTMENT_SIGNS[reason][1]


def worth_of(*, wanted: Adjust) -> tuple[int | None, bool]:
    """Return the adjustment's value at cost in minor units, and True if it needs an approval.

    The value is None if the cost is unknown; the adjustment then needs an approval. Raise
    `ServiceError` for an adjustment that breaks a rule.
    """
    inv_key = wanted.check()
    check_location(wanted.location)
    check_known(wanted.location, wanted.sku)
    checks.refuse_future("occurred_at", wanted.occurred_at, database_now())
    value_minor, limit_minor = _value_and_limit(inv_key, wanted.quantity_units)
    return value_minor, value_minor is None or value_minor > limit_minor


def request_adjustment(
    *, wanted: Adjust, actor: str, command_id: UUID | None = None
) -> Booked | Waiting:
    """Book the adjustment and return `Booked`, or store a request and return `Waiting`.

    Another person has to approve an adjustment whose value is above the limit or unknown.
    """
    inv_key = wanted.check()

    def work() -> _Asked:
        value_minor, waits = worth_of(wanted=wanted)
        if not waits:
            return _Asked(book_adjustment(wanted, actor), None, value_minor)
        request_id = _wait(wanted, value_minor, actor)
        detail = {"request": request_id, "reason": wanted.reason, "units": wanted.quantity_units}
        detail |= {"value_minor": value_minor}
        log_action(actor=actor, action="ask_adjustment", subject=inv_key, detail=detail)
        return _Asked(None, request_id, value_minor)

    kind = f"request_adjustment {inv_key}"
    return _outcome(run_command(command_id, kind, actor, work, _Asked, content=wanted))


def _outcome(asked: _Asked) -> Booked | Waiting:
    if asked.adjustment is not None and asked.value is not None:
        return Booked(asked.adjustment, asked.value)
    if asked.request is not None:
        return Waiting(asked.request, asked.value)
    message = f"app.command has a result without adjustment and request: {asked}"
    raise LookupError(message)


def approve_adjustment(*, request_id: int, actor: str, command_id: UUID | None = None) -> int:
    """Book a waiting request with the business time in the request; return the adjustment's id.

    Raise `ServiceError` if `actor` made the request. Raise `Conflict` if the request was approved
    or refused already.
    """

    def work() -> Written:
        request = locked_request(request_id)
        if request.requested_by == actor:
            refuse(
                "actor",
                actor,
                "you have requested this adjustment, so another person has to approve it",
            )
        booked = book_adjustment(request.adjustment, actor)
        decide_request(request_id, "approved", actor, adjustment_id=booked)
        return Written(booked)

    return run_command(
        command_id, f"approve_adjustment {request_id}", actor, work, Written, content=request_id
    ).id


def refuse_adjustment(*, request_id: int, reason: str, actor: str) -> None:
    """Refuse a waiting request, so that it is never booked; its requester may do this too."""
    checks.text("reason", reason, longest=checks.LONGEST_REASON)
    with ledger_transaction():
        request = locked_request(request_id)
        decide_request(request_id, "refused", actor, reason=reason)
        log_action(
            actor=actor,
            action="refuse_adjustment",
            subject=f"{request.location}|{request.sku}",
            detail={"request": request_id, "reason": reason},
        )


def set_adjustment_limit(*, limit_minor: int, actor: str, shown_minor: int | None = None) -> None:
    """Set the largest value, in minor units, of an adjustment that needs no approval.

    With 0 every adjustment needs an approval. Raise `Conflict` if the present limit differs from
    `shown_minor`, the limit that the person saw. If `shown_minor` is None, nothing is compared.
    """
    checks.integer("limit_minor", limit_minor, 0, AMOUNT_MAX)
    require_company()
    with ledger_transaction():
        before = _of_setting(_LimitInForce, "SELECT * FROM app.setting WHERE id = 1 FOR UPDATE")
        if shown_minor not in (None, before.adjustment_limit_minor):
            now = amount_text(before.adjustment_limit_minor)
            # The kill switch of prices writes the same row, so its author may be another person.
            last = read_one(LastChange, _LAST_CHANGE, _ACTION) or LastChange(
                before.updated_at, before.updated_by
            )
            message = Message(
                "%(who)s has set the limit to %(now)s at %(at)s, after this page was loaded: check "
                "the limit, and set it again if needed",
                who=person(last.actor),
                now=now,
                at=moment_text(last.at),
            )
            raise Conflict(message)
        execute(
            "UPDATE app.setting SET adjustment_limit_minor = %s, updated_by = %s,"
            " updated_at = clock_timestamp()",
            limit_minor,
            actor,
        )
        detail = {"limit_minor": limit_minor, "before_minor": before.adjustment_limit_minor}
        log_action(actor=actor, action=_ACTION, subject="settings", detail=detail)


def _value_and_limit(inv_key: str, units: int) -> tuple[int | None, int]:
    """Return the units' value at cost, and the limit of adjustments without an approval.

    Both are in minor units. The value is None if the cost is unknown.
    """
    found = _of_setting(
        _CostAndLimit,
        "SELECT s.adjustment_limit_minor AS limit_minor, il.cost_minor FROM app.setting s"
        " LEFT JOIN retail.item_location il ON il.inv_key = %s AND il.cost_minor > 0",
        inv_key,
    )
    value_minor = None if found.cost_minor is None else found.cost_minor * units
    return value_minor, found.limit_minor


def _of_setting(row: type[R], sql: str, *parameters: Any) -> R:  # noqa: ANN401 -- any SQL value
    """Return the one row of a query on `app.setting`."""
    found = read_one(row, sql, *parameters)
    if found is None:
        message = "app.setting has no row"
        raise LookupError(message)
    return found


def _wait(wanted: Adjust, value_minor: int | None, actor: str) -> int:
    now = database_now()
    return int(
        fetch_value(
            "INSERT INTO app.adjustment_request (location, sku, reason, quantity_units,"
            " occurred_at, value_minor, note, requested_by)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
            wanted.location,
            wanted.sku,
            wanted.reason,
            wanted.quantity_units,
            # A device's clock may be ahead, so replace a future business time by the present time.
            # The approval can't do this: by then, the time may no longer be in the future.
            min(wanted.occurred_at or now, now),
            value_minor,
            wanted.note,
            actor,
        )
    )
