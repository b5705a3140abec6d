"""The text of each kind of task, and the page that resolves it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from ledger.tasks import kinds
from webui.accounts.roles import (
    APPROVE_COUNTS,
    COUNT,
    RANGE_ITEMS,
    SEE,
    SEE_ORDERS,
    SEE_REJECTED_BYTES,
    SEE_TRANSFERS,
)
from webui.desks.tasks.queries import Numbers, Task
from webui.readmodel.figures import (
    counted_text,
    money_text,
    signed_units_text,
    units_text,
)

WINDOWS_AN_HOUR: Final = 6
MICRO: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """The label of a kind, the text of its numbers, and the next step with its page."""

    label: str
    describe: Callable[[Numbers], str]
    step: str
    page: Callable[[Task], str]
    # The ability that the page requires; without it the task links to its item instead.
    needs: str = SEE

    def text(self, task: Task, may: Collection[str]) -> str:
        """Return the text of the task for a person with the abilities `may`."""
        # A person who may do the second count must not read the first: it would not be blind.
        if task.detail.get("status") == "draft" and self.needs not in may:
            return "A difference waits for a second blind count."
        return self.describe(task.detail)

    def next_step(self, task: Task, may: Collection[str]) -> tuple[str, str]:
        """Return the next step and its address for a person with the abilities `may`."""
        if self.needs in may:
            return self.step, self.page(task)
        return ("See its facts" if task.sku else "See the chain"), _item(task)


def _desk(name: str, query: Callable[[Task], dict[str, str]]) -> Callable[[Task], str]:
    """Return a function for the address of a desk, filtered for a task."""

    def page(task: Task) -> str:
        try:
            return f"{reverse(name)}?{urlencode(query(task))}"
        except NoReverseMatch:
            return _item(task)

    return page


def _item(task: Task) -> str:
    if task.location and task.sku:
        return reverse("item", args=[task.location, task.sku])
    return reverse("system")


def _system(_task: Task) -> str:
    return reverse("system")


def _item_query(task: Task) -> dict[str, str]:
    return {"location": task.location or "", "sku": task.sku or ""}


def _location_query(task: Task) -> dict[str, str]:
    return {"location": task.location or ""}


def _price(task: Task) -> str:
    return reverse("prices-item", args=[task.location, task.sku])


def _record(task: Task) -> str:
    return reverse("rejected", args=[task.detail["first"]])


_count = _desk("counts", _item_query)
_waiting = _desk("counts-waiting", _location_query)
_reorders = _desk("reorders", _location_query)
_held_needs = _desk("reorders", lambda task: {"view": "held"} | _location_query(task))


def _on_hand(numbers: Numbers) -> str:
    return f"On hand {units_text(numbers['on_hand_units'])}."


def _phantom(numbers: Numbers) -> str:
    windows = int(numbers["quiet_windows"])
    hours = windows // WINDOWS_AN_HOUR
    quiet = counted_text(hours, "hour") if hours else counted_text(windows * 10, "minute")
    expected = counted_text(int(numbers["lambda_micro"]) // MICRO, "unit")
    return (
        f"{units_text(numbers['on_hand_units'])} on hand, but none sold in {quiet} of trading,"
        f" in which {expected} were to be expected."
    )


def _variance(numbers: Numbers) -> str:
    state = "waits for a second blind count" if numbers["status"] == "draft" else "is in force"
    return (
        f"Counted {units_text(numbers['counted_units'])}, expected"
        f" {units_text(numbers['expected_units'])}:"
        f" {signed_units_text(numbers['variance_units'])}. The count {state}."
    )


def _overdue(numbers: Numbers) -> str:
    orders = ", ".join(numbers["orders"][:3])
    return (
        f"{counted_text(numbers['open_units'], 'unit')} of {orders}, due on"
        f" {numbers['due_on']} from {numbers['supplier']}."
    )


def _transfer(numbers: Numbers) -> str:
    transfers = ", ".join(numbers["transfers"][:3])
    return (
        f"{counted_text(numbers['shipped_units'], 'unit')} of {transfers}, due on"
        f" {numbers['due_on']}."
    )


def _signal(numbers: Numbers) -> str:
    since = str(numbers["since"])[:16].replace("T", " ")
    units = counted_text(numbers["quantity_units"], "unit")
    return f"A need of {units} has had no word since {since}."


def _missing(numbers: Numbers) -> str:
    decision = numbers["reorder"] or numbers["price"]
    return f"The workers hold {decision} open, and no proposal of that name has arrived."


def _held(numbers: Numbers) -> str:
    return (
        f"Available {units_text(numbers['available_units'])}, on order"
        f" {units_text(numbers['on_order_units'])}, and the need is {numbers['hold']}."
    )


def _bucket(numbers: Numbers) -> str:
    return (
        f"On order {units_text(numbers['on_order_units'])}, unavailable"
        f" {units_text(numbers['unavailable_units'])}: below zero is no amount of goods."
    )


def _floor(numbers: Numbers) -> str:
    return (
        f"The price {money_text(numbers['price_minor'])} is below its floor"
        f" {money_text(int(numbers['floor_minor']))}."
    )


def _clock(numbers: Numbers) -> str:
    return (
        f"{numbers['source']} has sent {counted_text(numbers['facts'], 'fact')} from the future"
        f" in an hour, up to {units_text(numbers['most_s'])} s ahead."
    )


def _silent(numbers: Numbers) -> str:
    since = str(numbers["silent_since"])[:16].replace("T", " ")
    lines = counted_text(int(numbers["lines_of_seven_days"]), "line")
    return f"No sale since the hour of {since}; the same hours of seven days had {lines}."


def _rejected(numbers: Numbers) -> str:
    reasons = ", ".join(numbers["reasons"]).replace("_", " ")
    return f"{counted_text(numbers['records'], 'record')} without effect: {reasons}."


def _stale(numbers: Numbers) -> str:
    partitions = numbers.get("never_heard")
    if partitions:
        return (
            f"No heartbeat has ever come from {partitions} partitions. Nothing is approved by rule."
        )
    since = str(numbers["as_of"])[:19].replace("T", " ")
    return f"No heartbeat has come through since {since}. Nothing is approved by rule."


KINDS: Final[Mapping[str, Kind]] = {
    kinds.PIPELINE_STALE: Kind("Pipeline stale", _stale, "See which link is down", _system),
    kinds.REJECTED_RECORD: Kind(
        "Rejected record", _rejected, "Show the record", _record, SEE_REJECTED_BYTES
    ),
    kinds.SOURCE_CLOCK: Kind("Wrong clock", _clock, "Set its clock; see the chain", _system),
    kinds.STALE_SOURCE: Kind("Silent location", _silent, "Call the shop; see the chain", _system),
    kinds.MISSING_PROPOSAL: Kind(
        "Decision without proposal", _missing, "See the actuator", _system
    ),
    kinds.NEGATIVE_STOCK: Kind("Negative stock", _on_hand, "Count it", _count, COUNT),
    kinds.COUNT_VARIANCE: Kind(
        "Difference of a count", _variance, "Open waiting counts", _waiting, APPROVE_COUNTS
    ),
    kinds.STUCK_TRANSFER: Kind(
        "Stuck transfer",
        _transfer,
        "Open transfers",
        _desk("transfers", _location_query),
        SEE_TRANSFERS,
    ),
    kinds.NOT_COUNTED: Kind(
        "Not counted",
        lambda numbers: f"Never counted; the recorded facts add up to {_units(numbers)}.",
        "Count it",
        _count,
        COUNT,
    ),
    kinds.COUNT_AGAIN: Kind(
        "Count again",
        lambda numbers: f"A count came too late to be taken (record {numbers['record']}).",
        "Count it again",
        _count,
        COUNT,
    ),
    kinds.PHANTOM_SUSPECT: Kind(
        "May be missing from the shelf", _phantom, "Look at the shelf, count it", _count, COUNT
    ),
    kinds.UNKNOWN_ITEM: Kind(
        "Unknown item",
        lambda numbers: f"Facts without a ranged item add up to {_units(numbers)} on hand.",
        "Range it",
        _desk("ranging", _item_query),
        RANGE_ITEMS,
    ),
    kinds.OVERDUE_RECEIPT: Kind(
        "Overdue receipt", _overdue, "Open orders", _desk("orders", _location_query), SEE_ORDERS
    ),
    kinds.HELD_AT_ZERO: Kind("Held with nothing to sell", _held, "Open held needs", _held_needs),
    kinds.NEGATIVE_BUCKET: Kind("Bucket below zero", _bucket, "See its documents", _item),
    kinds.STUCK_SIGNAL: Kind("Need without a decision", _signal, "Open reorders", _reorders),
    kinds.FLOOR_BREACHED: Kind("Floor breached", _floor, "Change the price", _price),
}


def _units(numbers: Numbers) -> str:
    return units_text(numbers["on_hand_units"])
