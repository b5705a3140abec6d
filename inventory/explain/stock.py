"""Lines from the last count to the base position B (domain.md 2.4, 5, 11.10).

The state has on-hand, the last count and the sum of all movements after it. Only Postgres has the
cause of each movement, and the order lines and shipment lines whose units are on order. Callers
with access to Postgres pass the causes and these lines as `StockFacts`.
"""

from inventory.explain.formatting import counted_text
from inventory.explain.lines import Line, Section, Source, add, note, total
from inventory.model.state import KeyState, Stock
from inventory.model.value import value

CAUSES = ("sales", "returns", "receipts", "transfers", "adjustments")


@value
class CountFact:
    """The last approved count of a key. On-hand is its units plus all later movements."""

    id: int
    units: int
    at_us: int
    kind: str
    actor: str | None


@value
class Cause:
    """The sum of all on-hand movements of one cause after the last count.

    `rows` is the number of table rows in the sum. `detail` is a text that splits the sum further,
    for example `theft -4, found 1`, or "".
    """

    name: str
    on_hand_units: int
    rows: int
    detail: str


@value
class Document:
    """An order line or shipment line whose units are on order or in transit."""

    name: str
    detail: str
    source: Source
    on_order_units: int
    in_transit_units: int


@value
class StockFacts:
    """A key's stock from the tables of Postgres.

    `count` is the last count, None before the first one. `causes` has the movements after it, in
    the order of `CAUSES`. `documents` has the order lines and shipment lines whose units are on
    order or in transit.
    """

    count: CountFact | None
    causes: tuple[Cause, ...]
    documents: tuple[Document, ...]

    @property
    def on_hand_units(self) -> int:
        """Return on-hand = units of the last count (0 before the first count) + Σ causes."""
        counted = 0 if self.count is None else self.count.units
        return counted + sum(cause.on_hand_units for cause in self.causes)


def stock_section(state: KeyState | None, facts: StockFacts | None) -> Section:
    """Return the section `stock`: the steps from the last count to the base position B.

    The sums equal the numbers of `state`. If `facts` give another sum, one more line has the
    difference: the units of facts whose records the fold has not read yet or has rejected. If
    `state` is None, the lines end at the on-hand that `facts` give. If `facts` is None, one line
    has the sum of all movements since the count.
    """
    if state is None:
        found = StockFacts(None, (), ()) if facts is None else facts
        lines = (*_fact_lines(found), total("on_hand_units", found.on_hand_units))
        return Section("stock", lines)
    return Section(
        "stock",
        (
            *_on_hand_lines(state, facts),
            total("on_hand_units", state.on_hand_units, "" if state.stock_known else "uncounted"),
            add("on_hand_clamp_units", max(0, -state.on_hand_units)),
            *_on_order_lines(state, facts),
            add("on_order_clamp_units", max(0, -state.on_order_units)),
            add("allocated_units", -state.allocated_units),
            total("base_position_units", state.base_position_units),
            note("available_to_sell_units", state.available_to_sell_units),
            note("unavailable_units", state.unavailable_units),
            note("in_transit_units", state.in_transit_units),
        ),
    )


def _fact_lines(facts: StockFacts) -> tuple[Line, ...]:
    count = facts.count
    if count is None:
        first = add("last_count_units", 0, "never counted")
    else:
        first = add(
            "last_count_units",
            count.units,
            count.kind,
            Source("stock_count", count.id, count.actor),
        )
    at_us = None if count is None else count.at_us
    causes = (
        add(f"{cause.name}_units", cause.on_hand_units, _counted(cause)) for cause in facts.causes
    )
    return (note("last_count_at_us", at_us), first, *causes)


def _counted(cause: Cause) -> str:
    if not cause.rows:
        return ""
    rows = counted_text(cause.rows, "row")
    return f"{rows}: {cause.detail}" if cause.detail else rows


def _on_hand_lines(state: KeyState, facts: StockFacts | None) -> tuple[Line, ...]:
    if facts is None:
        return _state_lines(state.stock)
    unseen = state.on_hand_units - facts.on_hand_units
    return (*_fact_lines(facts), *_unseen("on_hand", unseen))


def _state_lines(stock: Stock) -> tuple[Line, ...]:
    count = stock.last_count
    if count is None:
        return (
            note("last_count_at_us", None),
            add("last_count_units", 0, "never counted"),
            add("movements_since_units", stock.on_hand_units),
        )
    return (
        note("last_count_at_us", count.at_us),
        add("last_count_units", count.units, count.kind, Source("stock_count", count.id)),
        add("movements_since_units", stock.on_hand_units - count.units),
    )


def _on_order_lines(state: KeyState, facts: StockFacts | None) -> tuple[Line, ...]:
    if facts is None:
        return (add("on_order_units", state.on_order_units),)
    documents = (
        add("on_order_units", document.on_order_units, _described(document), document.source)
        for document in facts.documents
    )
    unseen = state.on_order_units - sum(document.on_order_units for document in facts.documents)
    return (*documents, *_unseen("on_order", unseen))


def _described(document: Document) -> str:
    return f"{document.name}, {document.detail}" if document.detail else document.name


def _unseen(bucket: str, units: int) -> tuple[Line, ...]:
    if not units:
        return ()
    return (add(f"{bucket}_not_in_state_units", units, "not arrived yet, or rejected"),)
