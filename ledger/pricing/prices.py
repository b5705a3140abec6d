"""Services that write prices. They only append rows to the timeline of an item's prices.

No price is below the item's floor when it is written (docs/domain.md 6.4). The floor is computed at
every write, under a lock on the item, because cost or tax may have risen since the page was loaded.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from cdc.contracts.times import moment_of, us_of
from inventory.model.arithmetic import WINDOW_US, window_start
from ledger.items.service import LockedItem, locked_item
from ledger.kernel import checks
from ledger.kernel.amounts import amount_text
from ledger.kernel.bulk_insert import insert_many
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Written, run_command
from ledger.kernel.refusal_text import moment_text
from ledger.kernel.transactions import (
    database_now,
    execute,
    fetch_column,
    insert,
    ledger_transaction,
    log_action,
)
from ledger.messages import Message, gettext_noop
from ledger.pricing.plausibility import require_plausible, usual_minor
from ledger.pricing.timeline import (
    PriceStep,
    TimelineRow,
    last_written_price,
    newest_price,
    step_before,
)

MOST_PRICE: Final = 1_000_000_000
MOST_STEP: Final = 2**31 - 1  # limit of the column, an `int`
NO_PRICE: Final = 0  # the `shown_price_id` of a page that showed no price
KINDS: Final = ("initial", "manual", "emergency")  # kinds that `set_price` writes


def next_window_start(now: datetime) -> datetime:
    """Return the start of the next ten-minute window, which is always after `now`."""
    return moment_of(window_start(us_of(now)) + WINDOW_US)


@dataclass(frozen=True, slots=True)
class SetPrice:
    """A price in minor units that starts at `effective_from`.

    If `effective_from` is None, the price starts with the next window of ten minutes: at 10:50 if
    it is 10:43 now.

    * A `manual` price starts with the next window at the earliest, because windows that have begun
      keep their price.
    * An `initial` price may start in the past, but must be the first of its item.
    * An `emergency` price needs a reason and starts with the next window.

    `shown_price_id` is the highest id of a price that the person saw, `NO_PRICE` if there was
    none, None for no check. Unless `is_confirmed`, a price far from the last one is refused
    (`ledger.pricing.plausibility`).
    """

    location: str
    sku: str
    price_minor: int
    kind: str = "manual"
    effective_from: datetime | None = None
    step: int = 0
    shown_price_id: int | None = None
    is_confirmed: bool = True
    reason: str | None = None

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        checks.integer("price_minor", self.price_minor, 1, MOST_PRICE)
        checks.integer("step", self.step, -MOST_STEP - 1, MOST_STEP)
        checks.one_of("kind", self.kind, KINDS)
        checks.check_business_time("effective_from", self.effective_from)
        if self.kind == "emergency":
            checks.text("reason", self.reason)
            if self.effective_from is not None:
                rule = gettext_noop(
                    "must be empty: an emergency price always starts within ten minutes"
                )
                refuse("effective_from", self.effective_from, rule)


def set_price(
    command: SetPrice, *, actor: str | None = None, command_id: UUID | None = None
) -> int:
    """Write a price; return its id.

    Raises:
        ServiceError: a value breaks a rule, or the price is below the item's floor.
        ImplausiblePrice: without `is_confirmed`, a price far from the last one.
        Conflict: another price was written after `shown_price_id`, or an item with prices would get
            an initial price.
    """
    command.check()

    def work() -> Written:
        item = locked_item(location=command.location, sku=command.sku)
        newest = _newest_as_shown(item.inv_key, command.shown_price_id)
        if not command.is_confirmed:
            last_minor = None if newest is None else newest.price_minor
            require_plausible(command.price_minor, usual_minor(last_minor, item.regular_minor))
        begins = _beginning(item.inv_key, command, newest)
        price = Price(command.price_minor, command.step, command.kind, begins)
        return Written(write_price(item, price, actor=actor, reason=command.reason))

    kind = f"price {command.location}|{command.sku}"
    return run_command(command_id, kind, actor, work, Written, content=command).id


def _beginning(inv_key: str, command: SetPrice, newest: TimelineRow | None) -> datetime:
    earliest = next_window_start(database_now())
    if command.kind != "initial":
        return max(command.effective_from or earliest, earliest)
    if newest is not None:
        raise Conflict(_priced_already(inv_key))
    return command.effective_from or earliest


def _priced_already(inv_key: str) -> str:
    return Message(
        "%(inv_key)s has prices already, so this price can't be its first: set a manual price",
        inv_key=inv_key,
    )


def _newest_as_shown(inv_key: str, shown_price_id: int | None) -> TimelineRow | None:
    """Return `newest_price` of an item; raise `Conflict` unless the person saw the last write.

    `newest_price` has the latest start. The last written price has the highest id, and it may start
    before a scheduled price. So the check compares ids. The caller has locked the item.
    """
    last = last_written_price(inv_key)
    found = NO_PRICE if last is None else last.id
    if shown_price_id in (None, found):
        return newest_price(inv_key)
    if last is None:
        refuse("shown_price_id", shown_price_id, "this item has no price: reload the page")
    message = Message(
        "the price of %(inv_key)s has changed since it was shown: now %(price_minor)s from "
        "%(effective_from)s on, %(kind)s, %(origin)s",
        inv_key=inv_key,
        price_minor=amount_text(last.price_minor),
        effective_from=moment_text(last.effective_from),
        kind=Message(last.kind),
        origin=last.origin,
    )
    raise Conflict(message)


class Price(NamedTuple):
    """A price to write; `proposal_id` is the price proposal that it answers, if any."""

    price_minor: int
    step: int
    kind: str
    effective_from: datetime
    proposal_id: str | None = None


def write_price(
    item: LockedItem, price: Price, *, actor: str | None, reason: str | None = None
) -> int:
    """Insert a price for a locked item; return its id.

    Raise `ServiceError` for a price below the item's floor.
    """
    floor = item.floor_minor
    if price.price_minor < floor:
        refuse(
            "price_minor",
            price.price_minor,
            Message("not below the floor of %(floor)s", floor=amount_text(floor)),
        )
    before = newest_price(item.inv_key)
    price_id = insert(
        "price_change",
        {
            **item.key_columns,
            **price._asdict(),
            "floor_minor": floor,
            "recorded_by": actor,
        },
    )
    detail = {
        "price": price_id,
        "price_minor": price.price_minor,
        "was_minor": before.price_minor if before else None,
        "kind": price.kind,
        "floor_minor": floor,
        "reason": reason,
    }
    log_action(actor=actor, action="price", subject=item.inv_key, detail=detail)
    return price_id


class FirstPrice(NamedTuple):
    """The first price of an item, with its floor; both in minor units."""

    location: str
    sku: str
    price_minor: int
    floor_minor: int
    effective_from: datetime


def set_first_prices(*, prices: Sequence[FirstPrice], actor: str | None = None) -> int:
    """Write initial prices in one statement; return their number.

    Raise `Conflict` if a key has a price already or is given twice, `ServiceError` if a price is
    below its floor. After an error nothing is written.
    """
    columns = ("location", "sku", "price_minor", "floor_minor", "effective_from", "kind")
    with ledger_transaction():
        _refuse_if_priced([f"{price.location}|{price.sku}" for price in prices])
        return insert_many(
            "price_change",
            (*columns, "recorded_by"),
            [(*price, "initial", actor) for price in prices],
        )


def _refuse_if_priced(keys: Sequence[str]) -> None:
    twice = [inv_key for inv_key, number in Counter(keys).items() if number > 1]
    # Every write of a price takes this lock, so the query below also finds prices that other
    # transactions are writing now.
    execute(
        "SELECT FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR UPDATE",
        list(keys),
    )
    priced = fetch_column(
        "SELECT inv_key FROM retail.price_change WHERE inv_key = ANY(%s) LIMIT 1", list(keys)
    )
    if twice or priced:
        raise Conflict(_priced_already(twice[0] if twice else priced[0]))


def roll_back_price(
    *,
    location: str,
    sku: str,
    shown_price_id: int | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Undo the newest price of an item: write the price and step before it as a new row.

    Return the id of the new row.

    If no price precedes the newest price, the item returns to its regular price, step 0. An initial
    price that no price precedes can't be undone. If the price to restore is now below the floor,
    the new row gets the floor as its price.

    The new row takes effect with the next window. If the newest price is scheduled for later, the
    new row gets the same time. Of two rows with the same time, the row with the greater id is in
    force, so the scheduled price never takes effect.

    Raise `Conflict` if the newest price is a rollback itself, or if there is no price to go back
    to. Raise it also if the person saw another price (`shown_price_id`).
    """

    def work() -> Written:
        item = locked_item(location=location, sku=sku)
        newest = _newest_as_shown(item.inv_key, shown_price_id)
        _refuse_if_undone(newest)
        before = _predecessor(item, newest)
        begins = next_window_start(database_now())
        if newest is not None:
            begins = max(begins, newest.effective_from)
        return Written(write_rollback(item, before, begins, actor=actor, reason=reason))

    return run_command(
        command_id, f"roll back {location}|{sku}", actor, work, Written, content=reason
    ).id


def write_rollback(
    item: LockedItem,
    before: PriceStep,
    begins: datetime,
    *,
    actor: str | None,
    reason: str | None,
) -> int:
    """Write a rollback to the price `before` or, if the floor is higher, to the floor.

    The rollback starts at `begins`. Return the id of the new row.
    """
    minor = max(before.price_minor, item.floor_minor)
    price = Price(minor, before.step, "rollback", begins)
    return write_price(item, price, actor=actor, reason=reason)


def _refuse_if_undone(newest: TimelineRow | None) -> None:
    if newest is not None and newest.kind == "rollback":
        message = Message(
            "The last change is already a rollback, %(origin)s. To change the price again, set it "
            "by hand",
            origin=newest.origin,
        )
        raise Conflict(message)


def _predecessor(item: LockedItem, newest: TimelineRow | None) -> PriceStep:
    """Return `price_before` of the newest row; raise `Conflict` if there is none."""
    before = None if newest is None else price_before(item, newest)
    if before is None:
        message = Message(
            "%(inv_key)s has no earlier price to go back to: set a price by hand",
            inv_key=item.inv_key,
        )
        raise Conflict(message)
    return before


def price_before(item: LockedItem, row: TimelineRow) -> PriceStep | None:
    """Return price and step before `row`, or the regular price if no row precedes it.

    If no row precedes it, return None for an initial price, or for an item without a regular price.
    """
    before = step_before(item.inv_key, row)
    if before is None and row.kind != "initial" and item.regular_minor is not None:
        return PriceStep(item.regular_minor, 0)
    return before
