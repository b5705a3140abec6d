"""Fold a history that is given as JSON lines. No service is needed.

Input, one object a line, in log order of one partition of generation 1:
    {"offset": int, "table": str, "op": "c|u|d|r", "key": "L|SKU",
     "before": row|null, "after": row|null, "lsn": int, "commit_us": int}
Output: one line per record with its verdict, late sales and outputs. Then one line per key with its
state, sorted by key. Keys without an applied record have no line. Bug reports, golden cases and
comparisons with other implementations of docs/domain.md use this format.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from cdc.contracts.history_records import HistoryError, history_record
from inventory.fold.partition import FoldResult, Partition
from inventory.fold.record import Applied
from inventory.model.arithmetic import half_even
from inventory.model.outputs import Output, PriceOutput, ReorderOutput
from inventory.model.price_timeline import in_force
from inventory.model.record import Record
from inventory.model.state import KeyState, WindowRow

GENERATION = 1


def fold_history(lines: Iterable[str], *, every: int | None = None) -> Iterator[str]:
    """Apply the rules to each record of a history; yield the output lines, without newlines.

    At the end, one line per key has the key's state. With `every` = 100, these lines are also
    written after each 100th record. Their field "at" then has the offset of that record.

    Raises:
        HistoryError: a line is not JSON, is not a record of the format, or its offset doesn't rise.
    """
    partition = Partition(GENERATION)
    records = 0
    newest: int | None = None
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = history_record(line_number, line)
        if newest is not None and record.offset <= newest:
            reason = f"offsets must rise, got {record.offset} after {newest}"
            raise HistoryError(line_number, reason)
        newest = record.offset
        folded = partition.apply(record)
        yield _printed(_record_line(record, folded))
        records += 1
        if every is not None and records % every == 0:
            yield from _key_lines(partition, at=record.offset)
    yield from _key_lines(partition, at=None)


def state_document(state: KeyState) -> dict[str, Any]:
    """Return a key's state as the JSON object in the field `state` of an output line."""
    stock, episode = state.stock, state.episode
    demand = state.demand
    rate, mad = _rate_and_mad(state)
    return {
        "on_hand": stock.on_hand_units,
        "unavailable": stock.unavailable_units,
        "on_order": stock.on_order_units,
        "in_transit": stock.in_transit_units,
        "allocated": state.allocated_units,
        "stock_known": stock.is_counted,
        "sum_movements": stock.sum_movements_units,
        "sum_variances": stock.sum_variances_units,
        "shrink": stock.shrink_units,
        "stream_time_us": state.stream_time_us,
        "windows": _windows(state),
        "rate": rate,
        "mad": mad,
        "observed_days": demand.observed_days,
        "quiet_windows": demand.quiet_windows,
        "rate_at_last_sale": demand.rate_at_last_sale_micro,
        "B": state.base_position_units,
        "s": state.reorder_point_units,
        "S": state.order_up_to_units,
        "episode": {
            "state": episode.state,
            "id": episode.id,
            "q": episode.quantity_units,
            "until_us": episode.until_us,
            "reason": episode.reason,
        },
        "price": _price(state),
    }


def _record_line(record: Record, folded: FoldResult) -> dict[str, Any]:
    late, outputs = (folded.late, folded.outputs) if isinstance(folded, Applied) else (None, ())
    return {
        "offset": record.offset,
        "verdict": folded.verdict,
        "late": [] if late is None else [{"units": late.units, "amount_minor": late.amount_minor}],
        "outputs": [_output(output) for output in outputs],
    }


def _output(output: Output) -> dict[str, Any]:
    match output:
        case ReorderOutput():
            return {
                "kind": "reorder",
                "id": output.id,
                "revision": output.revision,
                "status": output.status,
                "q": output.quantity_units,
                "B": output.base_position_units,
                "s": output.reorder_point_units,
                "S": output.order_up_to_units,
                "flags": sorted(output.flags),
                "reason": output.reason,
            }
        case PriceOutput():
            return {
                "kind": "price",
                "id": output.id,
                "revision": output.revision,
                "status": output.status,
                "old": output.old_minor,
                "new": output.new_minor,
                "step": output.step,
                "signal": output.signal,
                "clamps": list(output.clamps),
                "effective_at_us": output.effective_at_us,
                "prior": output.prior_minor,
                "reason": output.reason,
            }
        case _:
            assert_never(output)


def _key_lines(partition: Partition, *, at: int | None) -> Iterator[str]:
    for key in sorted(partition.states):
        line: dict[str, Any] = {"key": key, "state": state_document(partition.states[key])}
        if at is not None:
            line["at"] = at
        yield _printed(line)


def _windows(state: KeyState) -> dict[str, list[int]]:
    rows = (state.windows[start] for start in sorted(state.windows))
    return {str(row.start_us): _counters(row) for row in rows if row.had_line}


def _counters(row: WindowRow) -> list[int]:
    return [
        row.sold_units,
        row.returned_units,
        row.sale_lines,
        row.return_lines,
        row.revenue_minor,
        row.late_lines,
        row.window_revision,
    ]


def _rate_and_mad(state: KeyState) -> tuple[int | None, int | None]:
    """Return the demand's rate and mean absolute deviation, in micro-units a day (domain.md 3.3).

    While the rate is unknown, both follow from the policy's initial rate. Without an initial rate
    both are None.
    """
    demand = state.demand
    if demand.rate_micro is not None:
        return demand.rate_micro, demand.mad_micro
    initial = None if state.policy is None else state.policy.initial_rate_micro
    return initial, None if initial is None else half_even(initial, 2)


def _price(state: KeyState) -> dict[str, Any]:
    now_us = state.stream_time_us
    row = None if now_us is None else in_force(state.timeline, now_us)
    return {
        "in_force": None if row is None else row.price_minor,
        "step": 0 if row is None else row.step,
        "proposal_id": state.price_episode.id,
        "proposal_price": state.price_episode.proposal_price_minor,
    }


def _printed(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
