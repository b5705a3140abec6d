"""Laws W9 to W14 of docs/domain.md 9 over whole histories: needs, prices, clocks, isolation."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc.contracts.state import encode_state
from inventory.fold.partition import Partition
from inventory.fold.record import Applied, FoldResult, Refused
from inventory.model.ids import InvKey
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.replenishment.quantity import least_units, limit_units
from tests.oracle.arithmetic import DAY, ceil
from tests.outcomes import late_of, outputs_of
from tests.strategies import histories

FINAL = {"accepted", "cancelled", "rejected", "expired"}
REASONS = {"not_order_day", "limit_below_minimum"}


def told(records: list[Record]) -> list[tuple[Record, KeyState | None, FoldResult]]:
    """Return each record with the state before it and its fold result."""
    partition = Partition(1)
    return [
        (record, partition.states.get(InvKey(record.key)), partition.apply(record))
        for record in records
    ]


@pytest.mark.domain("9 W9 *")
@given(histories())
def test_w9_needs_are_numbered_closed_once_and_ordered_in_packs(records: list[Record]) -> None:
    revisions: dict[str, int] = {}
    closed: set[str] = set()
    for _, _, result in told(records):
        for output in outputs_of(result):
            assert output.id not in closed
            assert output.revision == revisions.get(output.id, 0) + 1
            revisions[output.id] = output.revision
            if output.status in FINAL or (
                isinstance(output, PriceOutput) and output.status == "snoozed"
            ):
                closed.add(output.id)
            if isinstance(output, ReorderOutput) and result.state is not None:
                assert_quantity(output, result.state.policy)
        opened = [name for name in revisions if name not in closed]
        assert len(opened) == len(
            {name.split(":", 2)[0] + name.rpartition(":")[0] for name in opened}
        )


def assert_quantity(output: ReorderOutput, policy: ItemLocation | None) -> None:
    if output.status != "open":
        assert (output.quantity_units, output.flags) == (None, ())
        return
    assert policy is not None
    assert output.quantity_units is not None
    limit = limit_units(policy, output.base_position_units)
    assert output.quantity_units % policy.pack_units == 0
    assert output.quantity_units >= least_units(policy)
    assert limit is None or output.quantity_units <= limit


@pytest.mark.domain("9 W10 *")
@given(histories())
def test_w10_no_need_is_lost(records: list[Record]) -> None:
    for record, _, result in told(records):
        state = result.state
        if not isinstance(result, Applied) or state is None or record.op == "r":
            continue
        policy, point = state.policy, state.reorder_point_units
        if state.stream_time_us is None or policy is None or point is None:
            continue
        if policy.status == "active" and state.stock_known and state.base_position_units <= point:
            episode = state.episode
            assert episode.state != "idle" or episode.reason in REASONS
            assert episode.state == "idle" or episode.id is not None


@pytest.mark.domain("9 W12 *", "1 position, generation", "1 stream time", "1 revision")
@given(histories())
def test_w12_position_clock_horizon_and_revisions_never_go_back(records: list[Record]) -> None:
    for _, before, result in told(records):
        after = result.state
        if before is None or after is None:
            continue
        assert after.position.offset >= before.position.offset
        assert (after.stream_time_us or 0) >= (before.stream_time_us or 0)
        assert after.resent >= before.resent
        for start in after.windows.keys() & before.windows.keys():
            now, then = after.windows[start], before.windows[start]
            assert now.window_revision >= then.window_revision
            assert now.late_lines >= then.late_lines
        if after.episode.id is not None and after.episode.id == before.episode.id:
            assert after.episode.revision >= before.episode.revision


@pytest.mark.domain("9 W13 *")
@given(histories(focus="price"))
def test_w13_prices_respect_floor_step_total_ceiling_and_one_change_a_day(
    records: list[Record],
) -> None:
    shown: dict[str, int] = {}
    for record, _, result in told(records):
        if record.table == "price_change" and isinstance(result, Applied):
            image: Any = record.after
            assert image["price_minor"] >= image["floor_minor"]
        for output in outputs_of(result):
            if isinstance(output, PriceOutput) and output.status == "open":
                assert result.state is not None
                assert output.new_minor != shown.get(output.id), "the same candidate again"
                shown[output.id] = output.new_minor
                assert_price(output, result.state)


def assert_price(output: PriceOutput, state: KeyState) -> None:
    """Assert the bounds of 6.2, computed independently."""
    policy, old, new = state.policy, output.old_minor, output.new_minor
    assert policy is not None
    assert policy.regular_minor is not None
    net = ceil(policy.cost_minor * 1000, 1000 - policy.margin_permille)
    assert new >= ceil(net * (10_000 + policy.tax_bp), 10_000)
    if output.signal == "below_floor":
        return
    regular = policy.regular_minor
    is_cut = output.signal in ("overstock", "idle") or (output.signal == "restore" and new < old)
    assert (new < old) is is_cut
    assert abs(new - old) <= old * policy.max_step_permille // 1000
    if is_cut:
        assert new >= regular - regular * policy.max_off_permille // 1000
    else:
        assert new <= regular + regular * policy.cap_permille // 1000
    days = [row.effective_from_us // DAY for row in state.timeline if row.kind == "rule"]
    assert output.effective_at_us // DAY not in days


@pytest.mark.domain("9 W14 *", "11.1 Rejected")
@given(histories(), st.integers(0, 10**6), st.sampled_from(["limit", "op", "table", "key"]))
def test_w14_a_refused_record_changes_nothing_else(
    records: list[Record], place: int, how: str
) -> None:
    apart = [replace(record, offset=2 * record.offset) for record in records]
    place %= len(apart)
    like = apart[place]
    bad: dict[str, Any] = {
        "limit": {"table": "stock_count", "op": "c", "after": {"id": 10**9}, "before": None},
        "op": {"table": "sale_line", "op": "m", "after": {"id": 10**9}, "before": None},
        "table": {"table": "nothing", "op": "c", "after": {"id": 10**9}, "before": None},
        "key": {"key": "no key", "op": "c", "after": {"id": 10**9}, "before": None},
    }[how]
    wrong = replace(like, offset=like.offset + 1, **bad)

    plain, with_wrong = Partition(1), Partition(1)
    first = [plain.apply(record) for record in apart]
    second = [
        with_wrong.apply(record) for record in [*apart[: place + 1], wrong, *apart[place + 1 :]]
    ]

    assert isinstance(second.pop(place + 1), Refused)
    if like.op != "r":  # the refused record is a `c`, and that ends a snapshot
        assert [shown(one) for one in first] == [shown(one) for one in second]
        assert states(plain) == states(with_wrong)


def shown(result: FoldResult) -> tuple[Any, ...]:
    return result.verdict, late_of(result), outputs_of(result)


def states(partition: Partition) -> dict[InvKey, bytes]:
    return {key: encode_state(state) for key, state in partition.states.items()}


@pytest.mark.domain("9 W14 *")
@given(histories(longest=80))
def test_w14_keys_never_influence_each_other(records: list[Record]) -> None:
    """With the same verdicts of the ring, a key has the same results alone and among other keys."""
    together = Partition(1)
    admitted = [(record, together.ring.admit(record)) for record in records]
    results = [together.apply_admitted(*pair) for pair in admitted]

    for key in together.states:
        alone = Partition(1)
        mine = [alone.apply_admitted(*pair) for pair in admitted if pair[0].key == key]
        theirs = [told for told, pair in zip(results, admitted, strict=True) if pair[0].key == key]
        assert [shown(result) for result in mine] == [shown(result) for result in theirs]
        assert states(alone)[key] == states(together)[key]
