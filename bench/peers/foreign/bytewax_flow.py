"""The job on Bytewax: parse, then one stateful step per key, with the recovery store.

The program runs in an environment with Bytewax.

The step implements the windows, because Bytewax's own `fold_window` did not finish a third of this
input in three minutes. Bytewax has no changelog; its durable store is the recovery store (SQLite).
So this program writes its last outputs to a file for the comparison. Before that, it creates the
file `done`, which ends the measurement.
"""

import argparse
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import orjson
from bytewax._bytewax import cli_main
from bytewax.connectors.kafka import KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir

WINDOW_S = 600
GRACE_S = 600

Line = tuple[int, int]  # units, business seconds
State = tuple[int, int, dict[int, int]]  # on-hand, newest business second, open windows
Output = tuple[str, tuple[int, int, int]]  # key; on-hand, window start, window units


class Collected(StatelessSinkPartition[Output]):
    """The last output of each key and window."""

    def __init__(self) -> None:
        self.on_hand: dict[str, int] = {}
        self.windows: dict[tuple[str, int], int] = {}

    def write_batch(self, items: list[Output]) -> None:
        """Store the newest output of each key and window."""
        for key, (on_hand, start_s, units) in items:
            self.on_hand[key] = on_hand
            self.windows[key, start_s] = units


class Collector(DynamicSink[Output]):
    """One sink for the only worker."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected

    def build(self, *_: object) -> Collected:
        """Return the sink partition."""
        return self._collected


def count(state: State | None, line: Line) -> tuple[State, tuple[int, int, int]]:
    """Add a sale line to the state of its key; return the new state and the output."""
    on_hand, newest_s, windows = state or (0, 0, {})
    units, at_s = line
    start_s = at_s - at_s % WINDOW_S
    newest_s = max(newest_s, at_s)
    windows[start_s] = windows.get(start_s, 0) + units
    sold = windows[start_s]
    for closed in [s for s in windows if s + WINDOW_S + GRACE_S <= newest_s]:
        del windows[closed]
    return (on_hand - units, newest_s, windows), (on_hand - units, start_s, sold)


def build(bootstrap: str, topic: str, first: Path, collected: Collected) -> Dataflow:
    """Return the dataflow. It creates the file `first` when the first line arrives."""
    started: list[bool] = []

    def parse(message: Any) -> tuple[str, Line]:  # noqa: ANN401 -- its message has no public type
        if not started:
            started.append(True)
            first.touch()
        after = orjson.loads(message.value)["after"]
        at_s = int(datetime.fromisoformat(after["occurred_at"]).timestamp())
        return message.key.decode(), (after["quantity_units"], at_s)

    flow = Dataflow("peer")
    source = KafkaSource([bootstrap], [topic], tail=False, batch_size=1000)
    lines = op.map("parse", op.input("sales", flow, source), parse)
    op.output("out", op.stateful_map("count", lines, count), Collector(collected))
    return flow


def main() -> None:
    """Run to the end of the topic."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "name", "directory"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    directory = Path(options.directory)
    recovery = directory / "recovery"
    recovery.mkdir()
    init_db_dir(recovery, 1)
    collected = Collected()
    flow = build(options.bootstrap, options.topic, directory / "first", collected)
    cli_main(
        flow,
        workers_per_process=1,
        epoch_interval=timedelta(seconds=10),
        recovery_config=RecoveryConfig(str(recovery)),
    )
    (directory / "done").touch()
    windows = [[key, start_s, units] for (key, start_s), units in collected.windows.items()]
    staged = directory / "outputs.part"
    staged.write_text(json.dumps({"on_hand": collected.on_hand, "windows": windows}))
    staged.rename(directory / "outputs.json")


if __name__ == "__main__":
    main()
