"""The text of each kind of task, and the page on which people resolve tasks of this kind."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext

from ledger.kernel.amounts import amount_text
from ledger.messages import gettext_noop
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
from webui.readmodel.figures import counted_text, signed_units_text, units_text
from webui.shell.templatetags.shell import when

WINDOWS_AN_HOUR: Final = 6
MICRO: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task.

    `describe` returns a text with the numbers of a task. `step` is the next step as text, and
    `page` returns its URL.
    """

    label: str
    describe: Callable[[Numbers], str]
    step: str
    page: Callable[[Task], str]
    # The right that the page requires. Without this right, a person gets a link to the item.
    needs: str = SEE

    def text(self, task: Task, may: Collection[str]) -> str:
        """Return the text of the task for a person with the rights `may`."""
        # The second count is blind. So hide the numbers of the first count from people who may not
        # approve counts, because they may do the second count.
        if task.detail.get("status") == "draft" and self.needs not in may:
            return gettext("A difference waits for a second blind count.")
        return self.describe(task.detail)

    def next_step(self, task: Task, may: Collection[str]) -> tuple[str, str]:
        """Return (next step as text, its URL) for a person with the rights `may`."""
        if self.needs in may:
            return self.step, self.page(task)
        return (gettext("See its facts") if task.sku else gettext("See the pipeline")), _item(task)


def _desk(name: str, query: Callable[[Task], dict[str, str]]) -> Callable[[Task], str]:
    """Return a function from a task to the URL of desk `name` with the filters `query(task)`."""

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
    return gettext("On hand %(on_hand_units)s.") % {
        "on_hand_units": units_text(numbers["on_hand_units"])
    }


def _phantom(numbers: Numbers) -> str:
    windows = int(numbers["quiet_windows"])
    hours = windows // WINDOWS_AN_HOUR
    quiet = counted_text(hours, "hour") if hours else counted_text(windows * 10, "minute")
    expected = counted_text(int(numbers["lambda_micro"]) // MICRO, "unit")
    # The next step is a blind count, so the text has no units on hand. The demand in the text is
    # the one before the last sale. The present demand is lower, because nothing was sold since.
    return gettext(
        "The system shows units in stock, but none was sold in %(quiet)s of opening time. At the "
        "demand before the last sale, about %(expected)s would have been sold."
    ) % {"quiet": quiet, "expected": expected}


def _variance(numbers: Numbers) -> str:
    state = (
        gettext("waits for a second blind count")
        if numbers["status"] == "draft"
        else gettext("is in force")
    )
    return gettext(
        "Counted %(counted_units)s, expected %(expected_units)s: %(variance_units)s. "
        "The count %(state)s."
    ) % {
        "counted_units": units_text(numbers["counted_units"]),
        "expected_units": units_text(numbers["expected_units"]),
        "variance_units": signed_units_text(numbers["variance_units"]),
        "state": state,
    }


def _overdue(numbers: Numbers) -> str:
    orders = ", ".join(numbers["orders"][:3])
    return gettext("%(open_units)s of %(orders)s, due on %(due_on)s from %(supplier)s.") % {
        "open_units": counted_text(numbers["open_units"], "unit"),
        "orders": orders,
        "due_on": numbers["due_on"],
        "supplier": numbers["supplier"],
    }


def _transfer(numbers: Numbers) -> str:
    transfers = ", ".join(numbers["transfers"][:3])
    return gettext("%(shipped_units)s of %(transfers)s, due on %(due_on)s.") % {
        "shipped_units": counted_text(numbers["shipped_units"], "unit"),
        "transfers": transfers,
        "due_on": numbers["due_on"],
    }


def _signal(numbers: Numbers) -> str:
    units = counted_text(numbers["quantity_units"], "unit")
    return gettext("A need of %(units)s has waited for a decision since %(since)s.") % {
        "units": units,
        "since": when(datetime.fromisoformat(numbers["since"])),
    }


def _missing(numbers: Numbers) -> str:
    decision = numbers["reorder"] or numbers["price"]
    return gettext(
        "According to the workers, the decision %(decision)s is open, but no proposal with this "
        "id has arrived."
    ) % {"decision": decision}


# {state of a hold: the decision that caused the hold, in words}
_HOLDS: Final = {
    "held-snoozed": gettext_noop("snoozed"),
    "held-rejected": gettext_noop("rejected"),
    "held-short": gettext_noop("ordered with fewer units than it asked for"),
}


def _held(numbers: Numbers) -> str:
    hold = _HOLDS.get(numbers["hold"])
    return gettext(
        "Available %(available_units)s, on order %(on_order_units)s, and the need is %(hold)s."
    ) % {
        "available_units": units_text(numbers["available_units"]),
        "on_order_units": units_text(numbers["on_order_units"]),
        "hold": gettext(hold) if hold else numbers["hold"],
    }


def _bucket(numbers: Numbers) -> str:
    return gettext(
        "On order %(on_order_units)s, unavailable %(unavailable_units)s: an amount of goods "
        "can't be below zero."
    ) % {
        "on_order_units": units_text(numbers["on_order_units"]),
        "unavailable_units": units_text(numbers["unavailable_units"]),
    }


def _floor(numbers: Numbers) -> str:
    return gettext("The price %(price_minor)s is below its floor %(floor_minor)s.") % {
        "price_minor": amount_text(numbers["price_minor"]),
        "floor_minor": amount_text(int(numbers["floor_minor"])),
    }


def _clock(numbers: Numbers) -> str:
    return gettext(
        "Within an hour, %(source)s has sent %(facts)s with a time up to %(most_s)s s in the "
        "future."
    ) % {
        "source": numbers["source"],
        "facts": counted_text(numbers["facts"], "fact"),
        "most_s": units_text(numbers["most_s"]),
    }


def _silent(numbers: Numbers) -> str:
    since = when(datetime.fromisoformat(numbers["silent_since"]))
    lines = counted_text(int(numbers["lines_of_seven_days"]), "line")
    return gettext(
        "The last sale was in the hour of %(since)s. Since then there was no sale, but the same "
        "hours of the seven days before had %(lines)s in total."
    ) % {"since": since, "lines": lines}


def _rejected(numbers: Numbers) -> str:
    reasons = ", ".join(numbers["reasons"]).replace("_", " ")
    return gettext("%(records)s without effect: %(reasons)s.") % {
        "records": counted_text(numbers["records"], "record"),
        "reasons": reasons,
    }


def _stale(numbers: Numbers) -> str:
    partitions = numbers.get("never_heard")
    if partitions:
        return gettext(
            "No heartbeat has ever come from %(partitions)s. Meanwhile no rule approves orders or "
            "prices."
        ) % {"partitions": counted_text(int(partitions), "partition")}
    return gettext(
        "No heartbeat has arrived since %(since)s. Meanwhile no rule approves orders or prices."
    ) % {"since": when(datetime.fromisoformat(numbers["as_of"]))}


KINDS: Final[Mapping[str, Kind]] = {
    kinds.PIPELINE_STALE: Kind(
        gettext_noop("Pipeline stale"), _stale, gettext_noop("See which stage is down"), _system
    ),
    kinds.REJECTED_RECORD: Kind(
        gettext_noop("Rejected record"),
        _rejected,
        gettext_noop("Show the record"),
        _record,
        SEE_REJECTED_BYTES,
    ),
    kinds.SOURCE_CLOCK: Kind(
        gettext_noop("Wrong clock"),
        _clock,
        gettext_noop("Set the clock of the source; see the pipeline"),
        _system,
    ),
    kinds.STALE_SOURCE: Kind(
        gettext_noop("Silent location"),
        _silent,
        gettext_noop("Call the store; see the pipeline"),
        _system,
    ),
    kinds.MISSING_PROPOSAL: Kind(
        gettext_noop("Decision without proposal"),
        _missing,
        gettext_noop("See the pipeline"),
        _system,
    ),
    kinds.NEGATIVE_STOCK: Kind(
        gettext_noop("Negative stock"), _on_hand, gettext_noop("Count it"), _count, COUNT
    ),
    kinds.COUNT_VARIANCE: Kind(
        gettext_noop("Difference of a count"),
        _variance,
        gettext_noop("Show waiting counts"),
        _waiting,
        APPROVE_COUNTS,
    ),
    kinds.STUCK_TRANSFER: Kind(
        gettext_noop("Stuck transfer"),
        _transfer,
        gettext_noop("Show transfers"),
        _desk("transfers", _location_query),
        SEE_TRANSFERS,
    ),
    kinds.NOT_COUNTED: Kind(
        gettext_noop("Not counted"),
        # The next step is a blind count, so the text has no number.
        lambda _: gettext("It has sales or deliveries, but was never counted."),
        gettext_noop("Count it"),
        _count,
        COUNT,
    ),
    kinds.COUNT_AGAIN: Kind(
        gettext_noop("Count again"),
        lambda numbers: (
            gettext("A count came too late and has no effect (record %(record)s).")
            % {"record": numbers["record"]}
        ),
        gettext_noop("Count it again"),
        _count,
        COUNT,
    ),
    kinds.PHANTOM_SUSPECT: Kind(
        gettext_noop("May be missing from the shelf"),
        _phantom,
        gettext_noop("Look at the shelf and count the item"),
        _count,
        COUNT,
    ),
    kinds.UNKNOWN_ITEM: Kind(
        gettext_noop("Unknown item"),
        lambda numbers: (
            gettext(
                "The item is not in the range of this location, but its facts add up to "
                "%(numbers)s on hand."
            )
            % {"numbers": _units(numbers)}
        ),
        gettext_noop("Range it"),
        _desk("ranging", _item_query),
        RANGE_ITEMS,
    ),
    kinds.OVERDUE_RECEIPT: Kind(
        gettext_noop("Overdue receipt"),
        _overdue,
        gettext_noop("Show orders"),
        _desk("orders", _location_query),
        SEE_ORDERS,
    ),
    kinds.HELD_AT_ZERO: Kind(
        gettext_noop("Held need with nothing to sell"),
        _held,
        gettext_noop("Show held needs"),
        _held_needs,
    ),
    kinds.NEGATIVE_BUCKET: Kind(
        gettext_noop("Quantity below zero"), _bucket, gettext_noop("See its documents"), _item
    ),
    kinds.STUCK_SIGNAL: Kind(
        gettext_noop("Need without a decision"), _signal, gettext_noop("Show reorders"), _reorders
    ),
    kinds.FLOOR_BREACHED: Kind(
        gettext_noop("Floor breached"), _floor, gettext_noop("Change the price"), _price
    ),
}


def _units(numbers: Numbers) -> str:
    return units_text(numbers["on_hand_units"])
