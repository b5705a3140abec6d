"""Count the generated histories that meet the edges which docs/domain.md rules on.

`python -m tests.oracle.met --seeds 0-999` prints, for each edge, the number of histories and events
that meet it. A generator that never reaches an edge compares nothing there.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.oracle import demand, key, prices, pricing
from tests.oracle.arithmetic import EDGE, day
from tests.oracle.generate import World, written
from tests.oracle.partition import HEARTBEAT
from tests.oracle.sales import SOLD, horizon_at

EDGES = (
    "6.2 no price in 1…10^9 left",
    "11.2 other table under a heartbeat key",
    "11.2 commit time beyond ±(2^53 - 1)",
    "11.9 row in force at no instant within a run",
    "3.3 window with a negative count",
    "11.8 alpha above 1000",
    "4 re-sent record that moves the partition",
    "11.8 column of the list out of range",
    "11.4 limit of a day",
    "11.4 limit of a day before the horizon",
    "11.4 folded count beside the new one",
)
AT_LEAST_0 = (
    "floor_minor",
    "auto_max_minor",
    "phantom_lambda_micro",
    "service_z_micro",
    "initial_rate_micro",
    "pallet_packs",
)
WITHIN = ("beat", "effective_from")
Met = Counter[str]


def _is_out(image: object, names: tuple[str, ...], low: int, high: int) -> bool:
    row: dict[str, Any] = image if isinstance(image, dict) else {}
    found = [row[name] for name in names if type(row.get(name)) is int]
    return any(not low <= number <= high for number in found)


def _of_records(world: World, met: Met) -> None:
    """Count the edges that the records and their verdicts meet."""
    newest, lsn = -(10**40), -1
    for record, said in zip(world.records, world.said, strict=True):
        verdict, commit, row = said["verdict"], record["commit_us"], record["after"]
        other = HEARTBEAT.fullmatch(record["key"]) and record["table"] != "pipeline_heartbeat"
        met[EDGES[1]] += bool(other and verdict == "rejected:key_mismatch")
        met[EDGES[2]] += abs(commit) > EDGE and verdict == "rejected:malformed"
        met[EDGES[6]] += verdict == "resent" and (commit > newest or record["lsn"] > lsn)
        if verdict == "rejected:limit":
            met[EDGES[5]] += _is_out(row, ("demand_alpha_permille",), -(2**70), 1000)
            met[EDGES[7]] += _is_out(row, WITHIN, -EDGE, EDGE) or _is_out(row, AT_LEAST_0, 0, 2**70)
        if verdict != "rejected:malformed":
            newest, lsn = max(newest, commit), max(lsn, record["lsn"])


def _with_passing_rows(timeline: prices.Timeline, t: int) -> prices.Price | None:
    """Return the first cut that `first_cut` would find if it included rows never in force."""
    past, found = sorted(row for row in timeline if row.at <= t), None
    for earlier, later in zip(reversed(past[:-1]), reversed(past[1:]), strict=True):
        if later.price > earlier.price:
            break
        if later.price < earlier.price:
            found = later
    return found


Seen = Callable[..., None]


def _watchers(met: Met) -> tuple[tuple[Any, str, Seen], ...]:
    """Return (module, function name, function that counts an edge) for each watched function."""

    def price(result: object, _: int) -> None:
        met[EDGES[0]] += result is False

    def cut(result: prices.Price | None, timeline: prices.Timeline, t: int) -> None:
        met[EDGES[3]] += result != _with_passing_rows(timeline, t)

    def observed(_: object, __: object, known: demand.Known, ___: object, d: int) -> None:
        rows = known.windows.items()
        met[EDGES[4]] += any(row[SOLD] < 0 and day(start) == d for start, row in rows)

    return (
        (pricing, "is_price", price),
        (prices, "first_cut", cut),
        (demand, "complete_day", observed),
    )


def _watch_counts(met: Met) -> Callable[[key.Key, key.Change, int | None], None]:
    judged = key.Key.refuse_a_thousand_counts

    def refuse(after: key.Key, change: key.Change, since: int | None) -> None:
        try:
            judged(after, change, since)
        except key.Refused:
            met[EDGES[8]] += 1
            at = (change.after or {})["occurred_at"]
            met[EDGES[9]] += after.stream is not None and at < horizon_at(after.stream)
            raise

    return refuse


@contextmanager
def _watched(met: Met) -> Iterator[None]:
    """Record the model's calls while the block runs."""
    replaced: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, new: Any) -> None:
        replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def noting(function: Callable[..., Any], note: Seen) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            result = function(*arguments)
            note(result, *arguments)
            return result

        return noted

    for module, name, note in _watchers(met):
        replace(module, name, noting(getattr(module, name), note))
    replace(key.Key, "refuse_a_thousand_counts", _watch_counts(met))
    try:
        yield
    finally:
        for owner, name, old in replaced:
            setattr(owner, name, old)


def met_by(seed: int) -> Met:
    """Return the edge cases of `EDGES` in the history of a seed, with the number of events."""
    met: Met = Counter()
    with _watched(met):
        world = written(seed)
    _of_records(world, met)
    for known in world.model.keys.values():
        ids = Counter(count.id for count in known.ledger.counts)
        met[EDGES[10]] += sum(number > 1 for number in ids.values())
    return +met


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0-199", help="first-last, both included")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    histories: Met = Counter()
    events: Met = Counter()
    for seed in range(int(first), int(last or first) + 1):
        met = met_by(seed)
        histories.update(dict.fromkeys(met, 1))
        events.update(met)
    for edge in EDGES:
        sys.stdout.write(f"{edge}: {histories[edge]} histories, {events[edge]} events\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
