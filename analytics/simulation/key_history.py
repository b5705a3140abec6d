"""The history of one key as facts for a simulation: the records that the workers' fold applies.

The simulated period begins as soon as a count is approved, a policy is in force and the key has a
stream time. The records up to then are the preamble. The simulation gives policy rows the
scenario's parameters, but changes no other row that began in the preamble. For example, an order
that was open at the start of the period arrives as in history.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inventory.fold.partition import Partition
from inventory.fold.record import Applied
from inventory.log.dedupe import Admission
from inventory.model.arithmetic import MINUTE_US
from inventory.model.ids import InvKey
from inventory.model.policy import ItemLocation
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.replenishment.families import OFF
from inventory.replenishment.levels import demand_micro
from inventory.replenishment.transitions import OPEN
from inventory.tables.item_location import TABLE as POLICIES
from inventory.tables.purchase_order_line import TABLE as ORDER_LINES
from inventory.tables.shipment_line import TABLE as SHIPMENTS
from inventory.tables.stock_count import TABLE as COUNTS

ACCEPTED, LIVE = "accepted", "live"
NO_POLICY, NO_COUNT, NO_CLOCK = "no policy", "no approved count", "no change after the snapshot"

Image = Mapping[str, Any]
RowId = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """One applied record, with the key's time, stock, policy and demand rate after it.

    `delta_units` is the change of on-hand. `unbooked_units` were on the shelf and not recorded.
    Events hold no states: each state has its own windows, which would need too much memory.
    """

    record: Record
    at_us: int
    delta_units: int
    on_hand_units: int
    policy: ItemLocation | None
    rate_micro: int
    unbooked_units: int = 0


@dataclass(slots=True)
class KeyHistory:
    """Facts of one key. `left_out` is the reason why it can't be simulated, or "".

    `preamble` has the records before the simulated period, `events` the records in this period.
    `kept` has the ids of rows that began in the preamble, and of shipments for order lines that
    began in the preamble. `answered_minutes` counts the needs (proposed reorders) by the minutes
    that passed until the order.
    """

    key: str
    generation: int
    preamble: list[Record] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    start: KeyState | None = None
    start_unbooked_units: int = 0
    is_live: bool = True
    kept: set[RowId] = field(default_factory=set)
    latest_policy: Image = field(default_factory=dict)
    answered_minutes: Counter[int] = field(default_factory=Counter)
    left_out: str = ""

    @property
    def is_ever_replenished(self) -> bool:
        """Return True if a policy in the log has replenishment on, at any time of the period."""
        policies = [event.policy for event in self.events]
        if self.start is not None:
            policies.append(self.start.policy)
        return any(
            policy is not None and policy.replenish_family != OFF.code for policy in policies
        )

    def off_us(self, end_us: int) -> int:
        """Return the microseconds in which replenishment of the key was off.

        Time without a policy of the key in the log counts, too. Only the period up to `end_us`
        counts.
        """
        spans = [(self.start_us, None if self.start is None else self.start.policy)]
        spans += [(event.at_us, event.policy) for event in self.events]
        edges = [*(at_us for at_us, _policy in spans[1:]), end_us]
        return sum(
            max(0, until_us - from_us)
            for (from_us, policy), until_us in zip(spans, edges, strict=True)
            if policy is None or policy.replenish_family == OFF.code
        )

    @property
    def start_us(self) -> int:
        """Return the start of the simulated period, in microseconds since 1970 UTC; 0 if none."""
        return 0 if self.start is None else self.start.stream_time_us or 0


def key_history(
    key: str, generation: int, records: Iterable[tuple[Record, Admission]]
) -> KeyHistory:
    """Return the facts of a key from its records in offset order."""
    history = KeyHistory(key, generation)
    opened: dict[str, int] = {}
    events: list[Event] = []
    state: KeyState | None = None
    for before, record, state in _applied(key, generation, records):
        _note_row(history, record)
        _note_answers(history, state, opened)
        if history.start is not None:
            events.append(_event(before, record, state))
            continue
        history.preamble.append(record)
        history.kept.add(row_id(record))
        if not _missing(state):
            history.start = state
    history.left_out = _missing(state) if history.start is None else ""
    history.is_live = state is None or state.clock_mode == LIVE
    _note_unbooked(history, events)
    return history


def _applied(
    key: str, generation: int, records: Iterable[tuple[Record, Admission]]
) -> Iterator[tuple[KeyState | None, Record, KeyState]]:
    """Fold the records. Yield those that had an effect, with the state before and after each."""
    partition = Partition(generation)
    for record, admission in records:
        before = partition.states.get(InvKey(key))
        folded = partition.apply_admitted(record, admission)
        if isinstance(folded, Applied):
            yield before, record, folded.state


def _event(before: KeyState | None, record: Record, after: KeyState) -> Event:
    on_hand = 0 if before is None else before.on_hand_units
    return Event(
        record=record,
        at_us=after.stream_time_us or 0,
        delta_units=after.on_hand_units - on_hand,
        on_hand_units=after.on_hand_units,
        policy=after.policy,
        rate_micro=demand_micro(after.policy, after.demand.rate_micro),
    )


def _missing(state: KeyState | None) -> str:
    """Return the reason why the simulated period can't begin yet, or ""."""
    if state is None or state.policy is None:
        return NO_POLICY
    if not state.stock_known:
        return NO_COUNT
    return NO_CLOCK if state.stream_time_us is None else ""


def row_id(record: Record) -> RowId:
    """Return table and primary key of the record's row."""
    image: Any = record.before if record.after is None else record.after
    return record.table, int(image["id"])


def _note_row(history: KeyHistory, record: Record) -> None:
    image: Any = record.after
    if record.table == POLICIES.name and image is not None:
        history.latest_policy = image
    elif record.table == SHIPMENTS.name and _is_of_kept_order(history, record):
        history.kept.add(row_id(record))


def _is_of_kept_order(history: KeyHistory, record: Record) -> bool:
    image: Any = record.before if record.after is None else record.after
    return (ORDER_LINES.name, image.get("purchase_order_line_id")) in history.kept


def _note_answers(history: KeyHistory, state: KeyState, opened: dict[str, int]) -> None:
    """Count the minutes from the opening of a need (proposed reorder) to the order for it."""
    output, at_us = state.episode.last_output, state.stream_time_us
    if output is None or at_us is None:
        return
    if output.status == OPEN:
        opened.setdefault(output.id, at_us)
    elif output.status == ACCEPTED and output.id in opened:
        history.answered_minutes[(at_us - opened.pop(output.id)) // MINUTE_US] += 1


def _note_unbooked(history: KeyHistory, events: list[Event]) -> None:
    """Estimate the units that are on the shelf without a record, for each part of the history.

    A part ends at each count that changes on-hand. People can sell only what is on the shelf. So if
    the lowest on-hand of a part is -3, at least 3 units without a record were there. If on-hand is
    never below zero, the estimate is 0.
    """
    lowest = 0 if history.start is None else history.start.on_hand_units
    part: list[Event] = []
    for event in events:
        if event.record.table == COUNTS.name and event.delta_units:
            _close_part(history, part, lowest)
            part, lowest = [], event.on_hand_units
        part.append(event)
        lowest = min(lowest, event.on_hand_units)
    _close_part(history, part, lowest)


def _close_part(history: KeyHistory, part: list[Event], lowest_units: int) -> None:
    unbooked = max(0, -lowest_units)
    if not history.events:
        history.start_unbooked_units = max(history.start_unbooked_units, unbooked)
    history.events += [replace(event, unbooked_units=unbooked) for event in part]
