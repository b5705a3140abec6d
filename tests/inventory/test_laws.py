"""Laws that hold for every log (domain.md 9), on generated logs of one or two keys."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cdc.contracts.state import decode_state, encode_state
from inventory.fold import Folded
from inventory.model.arithmetic import DAY_US, MINUTE_US
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.partition import Partition
from tests.inventory.builders import KEY, MONDAY_US, Row, adjustment, count, policy, price, sale

OTHER = InvKey("LONDON|22423")
QUICK = settings(max_examples=40, deadline=None)

Fact = tuple[str, Row]
POLICY = policy(
    replenish_family="sS", reorder_point_units=20, order_up_to_units=60, pack_units=6,
    price_mode="advise", regular_minor=999, cost_minor=500, overstock_days=1,
)  # fmt: skip


@st.composite
def facts(draw: st.DrawFn, days: int = 3) -> Fact:
    """A fact of one of the tables that move stock, somewhere in the first days."""
    row_id = draw(st.integers(1, 10**9))
    when = MONDAY_US + draw(st.integers(0, days * 144 * 10 - 1)) * MINUTE_US
    units = draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["sale", "sale", "return", "found", "loss", "count"]))
    match kind:
        case "sale" | "return":
            signed = units if kind == "sale" else -units
            return "sale_line", sale(row_id, signed, when, amount=signed * 999)
        case "count":
            stage = draw(st.sampled_from(["opening", "cycle", "recount"]))
            return "stock_count", count(row_id, units, when, kind=stage)
        case _:
            return "stock_adjustment", adjustment(row_id, kind, units, when)


def logs(size: int = 25, days: int = 3) -> st.SearchStrategy[list[Fact]]:
    return st.lists(facts(days), min_size=1, max_size=size, unique_by=lambda fact: fact[1]["id"])


def record(place: int, fact: Fact, *, op: str = "c", key: str = KEY, gap_us: int = 0) -> Record:
    """The fact at this offset; commit times rise by `gap_us` from the end of the third day."""
    table, row = fact
    commit_us = MONDAY_US + 3 * DAY_US + place * gap_us
    image = {"recorded_at": MONDAY_US + 3 * DAY_US, **row}
    before = image if op == "d" else None
    after = None if op == "d" else image
    return Record(place, key, table, op, before, after, 1000 + place, commit_us)


def with_policy(log: list[Fact]) -> list[Record]:
    first = record(0, ("item_location", POLICY))
    return [first, *(record(place, fact, gap_us=MINUTE_US) for place, fact in enumerate(log, 1))]


def folded(records: list[Record]) -> tuple[Partition, list[Folded]]:
    partition = Partition(1)
    return partition, [partition.apply(record) for record in records]


def business(state: KeyState) -> dict[str, Any]:
    """The state without position, stream time, revisions and late lines."""
    rows = {
        start: (row.sold_units, row.returned_units, row.sale_lines, row.return_lines,
                row.revenue_minor, row.moves)
        for start, row in state.windows.items()
        if row.sale_lines or row.return_lines or row.moves
    }  # fmt: skip
    return {"stock": state.stock, "windows": rows, "demand": state.demand}


@QUICK
@given(logs(), st.randoms(use_true_random=False))
def test_w1_the_order_of_facts_has_no_effect(log: list[Fact], random: Any) -> None:
    shuffled = list(log)
    random.shuffle(shuffled)

    first, _ = folded(with_policy(log))
    second, _ = folded(with_policy(shuffled))

    assert business(first.states[KEY]) == business(second.states[KEY])


def brute_force(log: list[Fact]) -> tuple[int, int, int]:
    """on-hand, Σ movements and Σ variances, straight from the definitions."""
    signs = {"found": 1, "loss": -1}
    moves = [
        (row["occurred_at"], -row["quantity_units"] if table == "sale_line"
         else signs[row["reason"]] * row["quantity_units"])
        for table, row in log if table != "stock_count"
    ]  # fmt: skip
    counts = sorted(
        (row["occurred_at"], row["id"], row["units"])
        for table, row in log
        if table == "stock_count"
    )
    total, variances, level, since = sum(delta for _, delta in moves), 0, 0, None
    for when, _, units in counts:
        expected = level + sum(d for at, d in moves if at <= when and (since is None or at > since))
        variances += units - expected
        level, since = units, when
    on_hand = level + sum(delta for at, delta in moves if since is None or at > since)
    return on_hand, total, variances


@QUICK
@given(logs(days=2), st.integers(0, 6 * 144 * 10))
def test_w2_on_hand_is_the_sum_over_facts_also_beyond_the_horizon(
    log: list[Fact], gap_minutes: int
) -> None:
    records = [
        record(place, fact, gap_us=gap_minutes * MINUTE_US // len(log))
        for place, fact in enumerate(log)
    ]

    partition, results = folded(records)

    taken = [fact for fact, result in zip(log, results, strict=True) if result.verdict == "applied"]
    state = partition.states.get(KEY)
    if state is not None:
        stock = state.stock
        found = (stock.on_hand_units, stock.sum_movements_units, stock.sum_variances_units)
        assert found == brute_force(taken)


@QUICK
@given(logs(), st.lists(st.integers(0, 24), max_size=10))
def test_w3_resent_records_change_only_counter_and_position(
    log: list[Fact], again: list[int]
) -> None:
    records = [record(place, fact, gap_us=1000) for place, fact in enumerate(log)]
    once, _ = folded(records)
    resent = [
        Record(100 + place, old.key, old.table, old.op, old.before, old.after, old.lsn,
               old.commit_us)
        for place, old in enumerate(records[index % len(records)] for index in again)
    ]  # fmt: skip

    twice, results = folded([*records, *resent])

    assert all(result.verdict == "resent" for result in results[len(records) :])
    assert business(once.states[KEY]) == business(twice.states[KEY])
    assert twice.states[KEY].resent == len(again)


@QUICK
@given(logs(), st.integers(0, 25), st.integers(0, 25))
def test_w4_a_log_cut_anywhere_and_continued_from_earlier_gives_the_same(
    log: list[Fact], cut: int, back: int
) -> None:
    records = with_policy(log)
    cut = min(cut, len(records))
    whole, results = folded(records)

    first, before = folded(records[:cut])
    second = Partition(1)
    second.ring = first.ring
    second.states = {key: decode_state(encode_state(s)) for key, s in first.states.items()}
    start = max(0, cut - back)
    after = [second.apply(record) for record in records[start:]]

    assert [result.verdict for result in after[: cut - start]] == ["replayed"] * (cut - start)
    told = [*before, *after[cut - start :]]
    assert [r.outputs for r in told] == [r.outputs for r in results]
    assert [r.late for r in told] == [r.late for r in results]
    assert encode_state(second.states[KEY]) == encode_state(whole.states[KEY])


@QUICK
@given(logs(), facts())
def test_w5_what_is_inserted_and_deleted_was_never_there(log: list[Fact], extra: Fact) -> None:
    extra = (extra[0], {**extra[1], "id": 10**9 + 1})
    records = [record(place, fact) for place, fact in enumerate(log)]
    end = len(records)

    plain, _ = folded(records)
    visited, _ = folded([*records, record(end, extra), record(end + 1, extra, op="d")])

    assert business(plain.states[KEY]) == business(visited.states[KEY])


@QUICK
@given(logs(), logs())
def test_w8_w14_keys_fold_alone_as_they_fold_together(one: list[Fact], two: list[Fact]) -> None:
    mine = [record(2 * place, fact, gap_us=MINUTE_US) for place, fact in enumerate(one)]
    theirs = [
        record(2 * place + 1, fact, key=OTHER, gap_us=MINUTE_US) for place, fact in enumerate(two)
    ]

    together, _ = folded(sorted([*mine, *theirs], key=lambda record: record.offset))
    alone, _ = folded(mine)

    assert encode_state(together.states[KEY]) == encode_state(alone.states[KEY])


@QUICK
@given(logs(), st.integers(1, 3000))
def test_w9_revisions_count_up_and_a_closed_id_is_silent(log: list[Fact], gap: int) -> None:
    first = record(0, ("item_location", POLICY))
    start = record(1, ("price_change", price(1, 999, MONDAY_US)))
    records = [
        record(place, fact, gap_us=gap * MINUTE_US // 10) for place, fact in enumerate(log, 2)
    ]

    _, results = folded([first, start, *records])

    last: dict[str, tuple[int, str]] = {}
    for output in (output for result in results for output in result.outputs):
        revision, status = last.get(output.id, (0, "open"))
        assert (output.revision, status in ("open", "snoozed")) == (revision + 1, True)
        last[output.id] = (output.revision, output.status)


@QUICK
@given(logs(), st.integers(0, 3000))
def test_w12_position_clock_and_revisions_never_go_back(log: list[Fact], gap: int) -> None:
    partition = Partition(1)
    seen: KeyState | None = None
    for place, fact in enumerate(log):
        partition.apply(record(place, fact, gap_us=gap * MINUTE_US))
        state = partition.states.get(KEY)
        if seen is not None and state is not None:
            assert state.position.offset >= seen.position.offset
            assert (state.stream_time_us or 0) >= (seen.stream_time_us or 0)
            for start in state.windows.keys() & seen.windows.keys():
                now, then = state.windows[start], seen.windows[start]
                assert now.window_revision >= then.window_revision
        seen = state
