"""Counts of a live run: associates fill in count sheets, and a manager approves the counts.

A sheet doesn't show the recorded stock. A count has the units on the shelf at that moment, so it
reveals thefts and phantom stock. If the difference exceeds the tolerance, the item is counted again
before the approval, as on the pages.
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Final, NamedTuple

import structlog

from bench.retailer.commands import command_id
from bench.retailer.deliveries import STAFF
from bench.retailer.tally import Traded
from ledger.kernel.unscoped_rows import read_all
from ledger.services import (
    Conflict,
    Entry,
    LedgerError,
    add_entries,
    approve_waiting_count,
    open_sheet,
    submit_sheet,
)

MANAGER: Final = "simulated-manager"

log = structlog.get_logger()


class Found(NamedTuple):
    """The units that an associate counted on a shelf; `identity` is the id of the planned count."""

    location: str
    sku: str
    units: int
    at: datetime
    identity: str


@dataclass(frozen=True, slots=True)
class _Count:
    """A submitted count that no one has approved yet."""

    id: int
    sku: str


@dataclass(slots=True)
class Counting:
    """A queue of counts: the thread of the sales adds them, the staff thread submits them."""

    done: Traded
    found: SimpleQueue[Found] = field(default_factory=SimpleQueue)
    # Counts taken from the queue, by location, until their submission succeeds.
    _waiting: dict[str, list[Found]] = field(default_factory=dict)

    def work(self) -> None:
        """Submit the queued counts, one sheet per location, and approve them."""
        # First submit again the counts whose submission failed because the database was lost. They
        # are unchanged, so their commands have the same ids.
        self._submit()
        by_location: dict[str, dict[str, Found]] = defaultdict(dict)
        while not self.found.empty():
            found = self.found.get()
            by_location[found.location][found.sku] = found
        self._waiting = {place: list(items.values()) for place, items in by_location.items()}
        self._submit()

    def _submit(self) -> None:
        for location, items in sorted(self._waiting.items()):
            try:
                self._sheet(location, items)
            except LedgerError as refusal:
                self.done.refused += 1
                log.info("simulated_count_refused", location=location, error=str(refusal))
            del self._waiting[location]

    def _sheet(self, location: str, items: list[Found], *, is_second: bool = False) -> None:
        """Submit one sheet; count items again on a second sheet if their variance is too large."""
        round_ = "second" if is_second else "first"
        sheet = open_sheet(
            location=location, actor=STAFF, command_id=command_id(items[0].identity, round_)
        )
        entries = [
            Entry(command_id(one.identity, "entry", round_), one.sku, one.units, one.at)
            for one in items
        ]
        # A conflict means that an earlier attempt has submitted the sheet. Its counts exist.
        with suppress(Conflict):
            add_entries(sheet_id=sheet, entries=entries, actor=STAFF)
            submit_sheet(sheet_id=sheet, actor=STAFF)
        of_sku = {one.sku: one for one in items}
        counts = read_all(
            _Count,
            "SELECT id, sku FROM retail.stock_count"
            " WHERE sheet_id = %s AND status <> 'approved' ORDER BY sku",
            sheet,
        )
        again = [of_sku[count.sku] for count in counts if not self._approved(count.id)]
        if again and not is_second:
            self._sheet(location, again, is_second=True)

    def _approved(self, count: int) -> bool:
        try:
            approved = approve_waiting_count(
                count_id=count, actor=MANAGER, command_id=command_id("approve count", count)
            )
        except Conflict:
            return False
        self.done.counts += 1
        self.done.variances += approved.variance_units != 0
        return True
