"""Laws W1 to W8 of docs/domain.md 9: stock, windows and demand over generated logs."""

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cdc.contracts.state import decode_state, encode_state
from inventory.fold.partition import Partition
from inventory.fold.record import Applied, FoldResult
from inventory.log.dedupe import Admission, Ring, identity_of
from inventory.model.arithmetic import DAY_US, MINUTE_US, WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from tests.inventory.builders import KEY, MONDAY_US, Row, at, count, policy, sale, shipment
from tests.oracle.columns import Limit, business_time
from tests.oracle.effects import effect_of
from tests.oracle.limits import checked
from tests.outcomes import late_of, outputs_of
from tests.strategies import RECORDED_US, RowChange, histories, images, log_of, row_changes

OTHER = InvKey("LONDON|22423")
POLICY = policy(
    replenish_family="sS", reorder_point_units=20, order_up_to_units=60, pack_units=6,
    trading_windows=100, trading_from_window=30, recorded_at=RECORDED_US,
)  # fmt: skip
RANGED = RowChange("item_location", "c", None, POLICY)


def folded(records: list[Record]) -> tuple[Partition, list[FoldResult]]:
    partition = Partition(1)
    return partition, [partition.apply(record) for record in records]


def variances(state: KeyState) -> list[tuple[int, int, int]]:
    """Return (time in µs, id, variance) of every retained count, computed from the window rows."""
    moves = [move for row in state.windows.values() for move in row.moves.items()]
    before, since, found = state.stock.opening_units, -1, []
    for counted in state.stock.counts:
        expected = before + sum(units for second, units in moves if since < second <= counted.at_us)
        found.append((counted.at_us, counted.id, counted.units - expected))
        before, since = counted.units, counted.at_us
    return found


def business(state: KeyState) -> dict[str, Any]:
    """Return the state without position, stream time, revisions and late lines."""
    rows = {
        start: (row.sold_units, row.returned_units, row.sale_lines, row.return_lines,
                row.revenue_minor, row.moves)
        for start, row in state.windows.items()
        if row.sale_lines or row.return_lines or row.moves
    }  # fmt: skip
    return {
        "stock": state.stock,
        "windows": rows,
        "demand": state.demand,
        "variances": variances(state),
        "position": state.base_position_units,
    }


@pytest.mark.domain("9 W1 *")
@given(row_changes(), st.integers(0, 2**32), st.integers(0, 2999))
def test_w1_the_order_of_facts_has_no_effect(changes: list[RowChange], seed: int, gap: int) -> None:
    mixed = [change.row for change in changes]
    Random(seed).shuffle(mixed)  # noqa: S311 -- repeatable test data, no secret
    backwards = [change.row for change in reversed(changes)]
    # Three days of facts, all of them retained until a day after they were recorded.
    gap_us = gap * DAY_US // 3000 // len(changes)

    first, results = folded(log_of([RANGED, *changes], gap_us=gap_us))

    assert {result.verdict for result in results} == {"applied"}
    for rows in (mixed, backwards):
        of_row = {row: [change for change in changes if change.row == row] for row in rows}
        shuffled = [of_row[row].pop(0) for row in rows]
        second, _ = folded(log_of([RANGED, *shuffled], gap_us=gap_us))
        assert business(first.states[KEY]) == business(second.states[KEY])


def brute_force(live: dict[tuple[str, int], Row]) -> tuple[int, int, int]:
    """Return on-hand, Σ movements and Σ variances of live rows, computed by definition."""
    effects = [effect_of(table, checked(table, row)) for (table, _), row in live.items()]
    moves = [effect.movement for effect in effects if effect.movement is not None]
    counts = sorted(effect.count for effect in effects if effect.count is not None)
    variances, level, since = 0, 0, None
    for when, _, units, _ in counts:
        between = [d for second, d in moves if second <= when and (since is None or second > since)]
        variances += units - level - sum(between)
        level, since = units, when
    on_hand = level + sum(d for second, d in moves if since is None or second > since)
    return on_hand, sum(d for _, d in moves), variances


@pytest.mark.domain("9 W2 *")
@given(row_changes(), st.integers(0, 5 * 24 * 60) | st.integers(0, 30 * 24 * 60))
def test_w2_on_hand_is_the_sum_over_live_facts_also_far_beyond_the_horizon(
    changes: list[RowChange], minutes: int
) -> None:
    gap_us = minutes * MINUTE_US // len(changes)
    # At the end, delete the counts. Those before the horizon remain: such deletes are rejected.
    last = {c.row: c.after for c in changes if c.table == "stock_count"}
    voided = [RowChange("stock_count", "d", row, None) for row in last.values() if row is not None]
    partition, live, refused = Partition(1), dict[tuple[str, int], Row](), set[tuple[str, int]]()
    for place, record in enumerate(log_of([*changes, *voided], gap_us=gap_us)):
        change = [*changes, *voided][place]
        result = partition.apply(record)
        if result.verdict != "applied":
            refused.add(change.row)
        # Skip histories with a change after a rejected one: its before-image was never applied.
        assume(result.verdict != "applied" or change.row not in refused)
        if result.verdict == "applied" and change.after is None:
            live.pop(change.row, None)
        elif result.verdict == "applied" and change.after is not None:
            live[change.row] = change.after
        if result.state is not None and place >= len(changes) - 1:
            stock = result.state.stock
            found = (stock.on_hand_units, stock.sum_movements_units, stock.sum_variances_units)
            assert found == brute_force(live)


@pytest.mark.domain("9 W3 *")
@given(row_changes(), st.lists(st.integers(0, 10**6), max_size=12), st.integers(0, 3))
def test_w3_a_record_sent_again_changes_only_counter_and_position(
    changes: list[RowChange], again: list[int], broken: int
) -> None:
    wrong = [
        RowChange("sale_line", "c", None, sale(10**6 + n, 0, MONDAY_US)) for n in range(broken)
    ]
    records = log_of([RANGED, *changes, *wrong], gap_us=1000, step=2)
    resent = sorted(again)
    plain, _ = folded(records)

    partition, verdicts = Partition(1), []
    for place, record in enumerate(records):
        partition.apply(record)
        for offset, number in enumerate(n for n in resent if n % len(records) == place):
            old = records[number % (place + 1)]
            moved = Record(record.offset, *_rest(old)) if offset == 0 else old
            verdicts.append(partition.apply(_at(moved, record.offset + 1)).verdict)

    assert set(verdicts) <= {"resent", "replayed"}
    assert business(partition.states[KEY]) == business(plain.states[KEY])
    assert partition.states[KEY].episode == plain.states[KEY].episode
    assert partition.states[KEY].resent == verdicts.count("resent")


def _rest(record: Record) -> tuple[Any, ...]:
    return (record.key, record.table, record.op, record.before, record.after, record.lsn,
            record.commit_us)  # fmt: skip


def _at(record: Record, offset: int) -> Record:
    return Record(offset, *_rest(record))


@pytest.mark.domain("9 W4 *")
@given(histories(), st.integers(0, 10**6), st.integers(0, 30))
def test_w4_a_restart_at_any_record_gives_the_same_results(
    records: list[Record], cut: int, back: int
) -> None:
    cut %= len(records) + 1
    # One change is committed once; the generator sometimes gives two changes one LSN.
    commits = {(identity_of(record), record.commit_us) for record in records}
    assume(len(commits) == len({identity for identity, _ in commits}))
    whole, results = folded(records)

    first, before = folded(records[:cut])
    second = Partition(1)
    second.ring = restored(first.ring, records[:cut])
    second.states = {key: decode_state(encode_state(s)) for key, s in first.states.items()}
    # A worker skips records up to the position of the key's state (tests/streams).
    for record in records[max(0, cut - back) : cut]:
        state = second.states.get(InvKey(record.key))
        if state is not None and record.offset <= state.position.offset:
            assert second.apply(record).verdict == "replayed"
    after = [second.apply(record) for record in records[cut:]]

    assert [shown(result) for result in [*before, *after]] == [shown(one) for one in results]
    assert bytes_of(second) == bytes_of(whole)


def restored(ring: Ring, records: list[Record]) -> Ring:
    """Return the ring of a restarted worker: it reads the ring's identities from the topic."""
    again = Ring()
    again.resume(
        newest_commit_us=ring.newest_commit_us, highest_lsn=ring.highest_lsn, streamed=ring.streamed
    )
    for record in records:
        again.replay(record)
    assert set(again.identities()) == set(ring.identities())
    return again


def shown(result: FoldResult) -> tuple[Any, ...]:
    return result.verdict, late_of(result), outputs_of(result)


def bytes_of(partition: Partition) -> dict[InvKey, bytes]:
    return {key: encode_state(state) for key, state in partition.states.items()}


@pytest.mark.domain("9 W5 *")
@given(row_changes(), st.data())
def test_w5_a_fact_that_is_retracted_at_once_has_no_effect(
    changes: list[RowChange], data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(["sale", "count", "adjustment", "order", "transfer_in"]))
    table, row = data.draw(images(kind, 10**6, 3))
    row["recorded_at"] = RECORDED_US
    visit = [RowChange(table, "c", None, row), RowChange(table, "d", row, None)]
    live = {c.row: c.after for c in changes if c.table == "sale_line"}
    sales = [old for old in live.values() if old is not None]
    corrects_a_sale: bool = data.draw(st.booleans()) if sales else False
    if corrects_a_sale:
        old = data.draw(st.sampled_from(sales))
        window = old["occurred_at"] // WINDOW_US * WINDOW_US
        new = {**old, "quantity_units": 5, "occurred_at": window + 7_000_000}
        visit = [RowChange("sale_line", "u", old, new), RowChange("sale_line", "u", new, old)]

    plain, _ = folded(log_of([RANGED, *changes]))
    visited, results = folded(log_of([RANGED, *changes, *visit]))

    assert results[-1].verdict == results[-2].verdict == "applied"
    assert business(plain.states[KEY]) == business(visited.states[KEY])


def on_the_books(partition: Partition) -> int:
    """Return the sum of on-hand, unavailable and in-transit units over all keys."""
    return sum(
        state.on_hand_units + state.unavailable_units + state.in_transit_units
        for state in partition.states.values()
    )


@pytest.mark.domain("9 W6 *", "2.3 transfer_out shipped")
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_w6_transfers_lose_only_what_is_recorded_as_lost(
    transfers: list[tuple[int, int, int]],
) -> None:
    partition, offset, expected = Partition(1), 0, 0

    def put(key: str, before: Row | None, after: Row) -> None:
        nonlocal offset
        change = RowChange("shipment_line", "c" if before is None else "u", before, after)
        [record] = log_of([change], key=key, first=offset)
        assert partition.apply(record).verdict == "applied"
        offset += 1

    for number, (shipped, received, damaged) in enumerate(transfers, 1):
        shared: Row = {"planned_units": shipped, "recorded_at": RECORDED_US}
        sent = {**shared, "shipped_units": shipped, "shipped_at": at("10:00")}
        got = {"received_units": received, "damaged_units": damaged, "received_at": at("11:00")}
        legs = [shipment(2 * number, "transfer_in", "planned", **shared)]
        legs += [shipment(2 * number, "transfer_in", "shipped", **sent)]
        legs += [shipment(2 * number, "transfer_in", "received", **sent, **got)]
        put(OTHER, None, legs[0])
        put(KEY, None, shipment(2 * number + 1, "transfer_out", "shipped", **sent))
        put(OTHER, legs[0], legs[1])
        assert on_the_books(partition) == expected
        put(OTHER, legs[1], legs[2])
        expected -= shipped - received - damaged
        assert on_the_books(partition) == expected


@pytest.mark.domain("9 W6 *")
@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50))
def test_w6_an_undamaged_receipt_of_ordered_units_keeps_the_base_position(
    stock: int, received: int, more: int
) -> None:
    order = {"id": 1, "order_ref": "PO1", "supplier": "ACME", "status": "sent", "ordered_at": 0,
             "ordered_units": received + more}  # fmt: skip
    receipt = shipment(1, "supplier_in", "received", received_units=received, order_units=received,
                       received_at=at("11:00"), recorded_at=RECORDED_US)  # fmt: skip
    counted = {**count(1, stock, at("08:00")), "recorded_at": RECORDED_US}
    changes = [RANGED, RowChange("stock_count", "c", None, counted)]
    changes += [RowChange("purchase_order_line", "c", None, order)]

    before, _ = folded(log_of(changes))
    after, _ = folded(log_of([*changes, RowChange("shipment_line", "c", None, receipt)]))

    positions = [state.base_position_units for state in (before.states[KEY], after.states[KEY])]
    assert positions[0] == positions[1] == stock + received + more
    assert after.states[KEY].on_hand_units == stock + received


def sold_by(image: object, horizon: int | None) -> list[int]:
    """Return [retained lines, lines, units, minor units] of a sale image; zeros if invalid."""
    if not isinstance(image, dict):
        return [0, 0, 0, 0]
    try:
        row = checked("sale_line", image)
    except Limit:
        return [0, 0, 0, 0]
    second = business_time(row, "occurred_at")
    retained = horizon is None or second // WINDOW_US * WINDOW_US + WINDOW_US > horizon
    return [int(retained), 1, row["quantity_units"], row["amount_minor"]]


def counted_in(state: KeyState | None, starts: tuple[int, ...]) -> list[int]:
    """Return [lines, units, minor units], summed over the windows that begin at `starts`."""
    found = [0, 0, 0]
    for start in starts:
        row = None if state is None else state.windows.get(start)
        if row is not None:
            found[0] += row.sale_lines + row.return_lines
            found[1] += row.sold_units - row.returned_units
            found[2] += row.revenue_minor
    return found


@pytest.mark.domain("9 W7 *")
@given(histories())
def test_w7_windows_plus_late_units_equal_the_committed_sales(records: list[Record]) -> None:
    partition = Partition(1)
    for record in records:
        before = partition.states.get(InvKey(record.key))
        result = partition.apply(record)
        if not isinstance(result, Applied):
            continue
        starts = result.windows_changed
        pairs = zip(counted_in(before, starts), counted_in(result.state, starts), strict=True)
        lines, *counted = [new - old for old, new in pairs]
        late = (0, 0) if result.late is None else (result.late.units, result.late.amount_minor)
        now = result.state.stream_time_us
        horizon = None if now is None else (now // DAY_US - 3) * DAY_US
        is_sale = record.table == "sale_line"
        gone = sold_by(record.before if is_sale and record.op in "ud" else None, horizon)
        come = sold_by(record.after if is_sale and record.op != "d" else None, horizon)
        retained, _, *committed = [new - old for old, new in zip(gone, come, strict=True)]
        assert [one + other for one, other in zip(counted, late, strict=True)] == committed
        assert lines == retained


@pytest.mark.domain("9 W8 *")
@given(histories(), st.integers(1, 4))
def test_w8_any_split_of_keys_recomputes_the_same_bytes(records: list[Record], parts: int) -> None:
    ring = Ring()
    admissions: list[tuple[Record, Admission]] = [(one, ring.admit(one)) for one in records]
    whole, results = folded(records)

    found: dict[InvKey, bytes] = {}
    again: dict[int, tuple[Any, ...]] = {}
    for part in range(parts):
        unit = Partition(1)
        for place, (record, admission) in enumerate(admissions):
            if sum(record.key.encode()) % parts == part:
                again[place] = shown(unit.apply_admitted(record, admission))
        found |= bytes_of(unit)

    assert found == bytes_of(whole)
    assert [again[place] for place in sorted(again)] == [shown(result) for result in results]
