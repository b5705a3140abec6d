"""Lines from the last count to the base position: causes, documents, facts not yet folded."""

from hypothesis import given
from hypothesis import strategies as st

from inventory.explain.key import explain_at
from inventory.explain.lines import ADD, SUM, Line, Section, Source, gaps, note, total, with_actors
from inventory.explain.stock import CAUSES, Cause, CountFact, Document, StockFacts, stock_section
from inventory.model.ids import InvKey, Position
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Count, KeyState, Stock
from tests.inventory.decision_inputs import policy

UNITS = st.integers(-50, 50)
FACTS = st.builds(
    StockFacts,
    st.none() | st.builds(CountFact, st.just(7), UNITS, st.just(99), st.just("cycle"), st.none()),
    st.lists(UNITS, min_size=5, max_size=5).map(
        lambda units: tuple(
            Cause(name, moved, abs(moved) % 3, "theft -1" if moved % 2 else "")
            for name, moved in zip(CAUSES, units, strict=True)
        )
    ),
    st.lists(UNITS, max_size=3).map(
        lambda units: tuple(
            Document(f"PO-{at}", "ACME" if at else "", Source("purchase_order_line", at), moved, 0)
            for at, moved in enumerate(units)
        )
    ),
)


def state(on_hand: int, on_order: int, allocated: int, *, counted: bool = True) -> KeyState:
    counts = (Count(99, 7, on_hand + 3, "cycle"),) if counted else ()
    base = max(0, on_hand) + max(0, on_order) - allocated
    return KeyState(
        InvKey("L|S"),
        Position(1, 5),
        stock=Stock(on_hand_units=on_hand, on_order_units=on_order, counts=counts),
        policy=policy(allocated_units=allocated),
        base_position_units=base,
    )


def named(section: Section, name: str) -> list[Line]:
    return [line for line in section.lines if line.name == name]


@given(FACTS, UNITS, UNITS, st.integers(0, 9))
def test_facts_and_unprocessed_movements_add_up_to_the_state(
    facts: StockFacts, on_hand: int, on_order: int, allocated: int
) -> None:
    section = stock_section(state(on_hand, on_order, allocated), facts)

    assert gaps((section,)) == ()
    assert named(section, "on_hand_units")[0].amount == on_hand
    unseen = [line.amount for line in named(section, "on_hand_not_in_state_units")]
    assert sum(amount for amount in unseen if isinstance(amount, int)) == (
        on_hand - facts.on_hand_units
    )
    assert len(named(section, "on_order_units")) == len(facts.documents)


@given(FACTS)
def test_facts_alone_add_up_to_on_hand(facts: StockFacts) -> None:
    sections = explain_at(facts, PriceRow(5, 3, 899, 0, "manual"), 77)

    assert gaps(sections) == ()
    assert sections[0].lines[-1] == total("on_hand_units", facts.on_hand_units)
    assert [section.name for section in sections] == ["stock", "price", "source"]


def test_stock_lines_without_tables_show_last_count_and_net_movements() -> None:
    counted = stock_section(state(5, 0, 0), None)
    uncounted = stock_section(state(5, 0, 0, counted=False), None)

    assert [named(counted, name)[0].amount for name in ("last_count_units", "on_hand_units")] == [
        8,
        5,
    ]
    assert named(counted, "movements_since_units")[0].amount == -3
    assert named(uncounted, "last_count_units")[0].detail == "never counted"
    assert named(uncounted, "on_hand_units")[0].detail == "uncounted"


def test_an_unknown_key_has_zero_units_on_hand() -> None:
    section = stock_section(None, None)

    assert named(section, "on_hand_units")[0].amount == 0


def test_a_cause_line_has_its_number_of_rows() -> None:
    causes = (Cause("sales", -4, 1, ""), Cause("adjustments", -3, 2, "theft -4, found 1"))

    section = stock_section(None, StockFacts(None, causes, ()))

    assert named(section, "sales_units")[0].detail == "1 row"
    assert named(section, "adjustments_units")[0].detail == "2 rows: theft -4, found 1"


def test_a_sum_that_its_steps_do_not_give_is_named() -> None:
    lines = (Line("a_units", 2, ADD), note("b_units", 9), Line("c_units", 3, SUM))

    assert gaps((Section("stock", lines),)) == ("stock.c_units: 3, but its steps give 2",)


def test_with_actors_adds_people_to_rows_without_one() -> None:
    lines = (
        note("a", 1),
        note("b", 1, "", Source("stock_count", 1, "bob")),
        note("c", 1, "", Source("price_change", 2)),
        note("d", 1, "", Source("price_change", 3)),
    )

    found = with_actors(
        (Section("x", lines),), {("price_change", 2): "pat", ("stock_count", 1): "eve"}
    )

    sources = [line.source for line in found[0].lines]
    assert [source and source.actor for source in sources] == [None, "bob", "pat", None]
