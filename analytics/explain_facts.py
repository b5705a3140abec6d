"""The facts of one key in Postgres, archive and worker, as its explanation shows them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import psycopg

from analytics.explain_history import RowOffsets
from cdc import workers
from cdc.contracts.state import decode_level
from cdc.contracts.times import us_of
from cdc.settings import Connections
from cdc.window_lines import LACKS_LINES, LEDGER_LINES, WINDOW_OF_FACT
from inventory.explain.arrival import arrival
from inventory.explain.lines import Source
from inventory.explain.stock import Cause, CountFact, Document, StockFacts
from inventory.model.price_timeline import PriceRow, Timeline
from inventory.model.state import KeyState

Actors = dict[tuple[str, int], str | None]

WORKER_TIMEOUT_S: Final = 2.0  # a command waits longer for a worker than a page does

# `ledger_lines` counts all lines of a window that Postgres has now, also those after `until`: the
# read model's window includes them, too. The columns `place` and `running_units` of a fact don't
# depend on later facts, so the filter by `until` doesn't change them.
_FACTS: Final = f"""
SELECT f.table_name, f.row_id, f.business_at, f.recorded_at, f.heard_at, f.kind, f.document,
    f.actor, f.counted_units, f.delta_units, f.running_units, w.late_lines, {LACKS_LINES}
FROM (SELECT f.*, {LEDGER_LINES} FROM retail.stock_facts(%(key)s) f) f
{WINDOW_OF_FACT}
WHERE f.business_at <= coalesce(%(until)s::timestamptz, 'infinity') ORDER BY f.place
"""  # noqa: S608 -- constants of this project
_SPLIT: Final = """
SELECT cause, units, facts, detail, count_id, counted_at, actor
FROM retail.stock_split(%(key)s, coalesce(%(until)s::timestamptz, 'infinity'))
"""
_DOCUMENTS: Final = """
SELECT document, detail, table_name, row_id, actor, on_order_units, in_transit_units
FROM retail.inbound_documents(%(key)s)
"""
_PRICES: Final = """
SELECT effective_from, id, price_minor, step, kind, recorded_by FROM retail.price_change
WHERE inv_key = %(key)s ORDER BY effective_from, id
"""
_STATE: Final = """
SELECT s.state, greatest(s.as_of_us, p.as_of_us) FROM read_model.stock s
LEFT JOIN read_model.sink_position p ON p.sink = 'projector' AND p.topic = %(topic)s
    AND p.partition = s.partition
WHERE s.inv_key = %(key)s
"""
_POLICY: Final = "SELECT id, recorded_by FROM retail.item_location WHERE inv_key = %(key)s"
_DECISION: Final = """
SELECT id, recorded_by FROM retail.reorder_decision WHERE inv_key = %(key)s AND reorder_id = %(id)s
ORDER BY id DESC LIMIT 1
"""
_SIMILAR: Final = "SELECT * FROM retail.whereabouts(%s, %s)"


@dataclass(frozen=True, slots=True)
class Step:
    """One fact and the on-hand after it. A count sets on-hand and shows its variance."""

    at: str
    recorded_at: str
    table: str
    id: int
    what: str
    document: str
    actor: str | None
    moved_units: int
    variance_units: int | None
    on_hand_units: int
    arrival: str  # on_time, late_counted or late_uncounted for sale and return lines, else ""
    offsets: tuple[int, ...]  # of this row's archived changes in its partition


@dataclass(frozen=True, slots=True)
class SourcedState:
    """The state of a key, and its source: a worker or the read model.

    `as_of_us` is the commit time of the newest record of the key's partition that the source has
    applied. `has_windows` is True if the state has its sales per ten-minute window.
    """

    state: KeyState
    has_windows: bool
    as_of_us: int | None
    came_from: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a key in the database, all in one snapshot."""

    steps: tuple[Step, ...]
    stock: StockFacts
    prices: Timeline
    actors: Actors
    policy: Source | None


def read_facts(
    connection: psycopg.Connection, key: str, until: datetime | None, row_offsets: RowOffsets
) -> Facts:
    """Return all facts of `key` up to a business time, with stock by cause, orders and prices."""
    parameters = {"key": key, "until": until}
    prices = connection.execute(_PRICES, parameters).fetchall()
    policy = connection.execute(_POLICY, parameters).fetchone()
    return Facts(
        steps=tuple(_step(row, row_offsets) for row in connection.execute(_FACTS, parameters)),
        stock=_stock(connection, parameters),
        prices=tuple(PriceRow(us_of(row[0]), *row[1:5]) for row in prices),
        actors={("price_change", row[1]): row[5] for row in prices},
        policy=None if policy is None else Source("item_location", *policy),
    )


def _step(row: tuple[Any, ...], row_offsets: RowOffsets) -> Step:
    table, row_id, at, recorded_at, heard_at, kind, document, actor, *figures = row
    counted, delta, running, late_lines, lacks_lines = figures
    came = ""
    if table == "sale_line":
        came = arrival(us_of(at), us_of(heard_at), late_lines, lacks_lines=lacks_lines)
    return Step(
        at=at.astimezone(UTC).isoformat(),
        recorded_at=recorded_at.astimezone(UTC).isoformat(),
        table=table,
        id=row_id,
        what=kind,
        document=document,
        actor=actor,
        moved_units=delta if counted is None else 0,
        variance_units=None if counted is None else delta,
        on_hand_units=running,
        arrival=came,
        offsets=tuple(row_offsets.get((table, row_id), ())),
    )


def _stock(connection: psycopg.Connection, parameters: dict[str, Any]) -> StockFacts:
    count: CountFact | None = None
    causes: list[Cause] = []
    for cause, units, facts, detail, count_id, at, actor in connection.execute(_SPLIT, parameters):
        if cause == "count":
            count = CountFact(count_id, units, us_of(at), detail, actor)
        else:
            causes.append(Cause(cause, units, facts, detail))
    documents = (
        Document(name, detail, Source(table, row_id, actor), on_order, in_transit)
        for name, detail, table, row_id, actor, on_order, in_transit in connection.execute(
            _DOCUMENTS, parameters
        )
    )
    return StockFacts(count, tuple(causes), tuple(documents))


def read_decision(connection: psycopg.Connection, state: KeyState) -> Source | None:
    """Return the newest answer to the key's need (proposed reorder), or None without an answer."""
    parameters = {"key": state.inv_key, "id": state.episode.id}
    found = connection.execute(_DECISION, parameters).fetchone()
    return None if found is None else Source("reorder_decision", *found)


def read_state(
    connection: psycopg.Connection, settings: Connections, key: str, topic: str
) -> SourcedState | None:
    """Return the key's state from its worker, or from the read model if no worker gives a state.

    Return None if neither has the key.
    """
    shown = connection.execute(_STATE, {"key": key, "topic": topic}).fetchone()
    live = workers.query_key(settings, key, within_s=WORKER_TIMEOUT_S)
    if live.state is not None:
        return SourcedState(
            live.state, has_windows=True, as_of_us=live.as_of_us, came_from="worker"
        )
    if shown is None:
        return None
    level, _dropped = decode_level(shown[0].encode())
    return SourcedState(
        level, has_windows=False, as_of_us=shown[1], came_from=f"read model: {live.problem}"
    )


def why_unknown(connection: psycopg.Connection, sku: str, location: str) -> str:
    """Return a message about the unknown location or SKU, with similar known ones."""
    row = connection.execute(_SIMILAR, (location, sku)).fetchone()
    is_location, elsewhere, similar, locations = row or (False, [], [], [])
    if not is_location:
        known = ", ".join(locations) or "none yet"
        return f"--location {location!r}: no such location; known locations: {known}"
    if similar:
        return (
            f"{sku!r} is unknown at {location}; upper and lower case differ: did you mean "
            f"{', '.join(similar)}?"
        )
    if elsewhere:
        return f"{sku!r} is not at {location}; it is at {', '.join(elsewhere)}"
    return f"{sku!r}: no such SKU at {location}, nor anywhere else"
