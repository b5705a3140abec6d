"""The job on Quix Streams, with a stateful on-hand and the tumbling windows of Quix.

The program runs in an environment with Quix Streams.

State is in RocksDB with changelog topics, the default of Quix. Quix deletes a closed window from
the changelog, possibly in the commit that wrote it. Then the bench could not compare the window. So
the grace is longer than the time span of the input, and no window closes. A longer grace hardly
changes the cost per line.
"""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

import quixstreams.dataframe.windows.aggregations as agg
from quixstreams import Application, State

WINDOW_MS = 600_000
GRACE_MS = 2 * 86_400_000


def business_time_ms(value: dict[str, Any], *_: object) -> int:
    """Return the business time of the line in milliseconds since 1970."""
    return int(datetime.fromisoformat(value["after"]["occurred_at"]).timestamp() * 1000)


def main() -> None:
    """Run until SIGTERM."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "name", "directory"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    directory = Path(options.directory)
    app = Application(
        broker_address=options.bootstrap,
        consumer_group=options.name,
        auto_offset_reset="earliest",
        state_dir=directory / "state",
        commit_interval=1.0,
        loglevel="WARNING",
        consumer_extra_config={"session.timeout.ms": 6_000},
    )
    started: list[bool] = []

    def on_hand(value: dict[str, Any], state: State) -> dict[str, int]:
        if not started:
            started.append(True)
            (directory / "first").touch()
        units = value["after"]["quantity_units"]
        state.set("on_hand", state.get("on_hand", 0) - units)
        return {"units": units}

    sales = app.topic(
        options.topic,
        key_deserializer="str",
        value_deserializer="json",
        timestamp_extractor=business_time_ms,
    )
    lines = app.dataframe(sales).apply(on_hand, stateful=True)
    windows = lines.tumbling_window(WINDOW_MS, grace_ms=GRACE_MS, name="windows")
    windows.agg(value=agg.Sum("units")).current()
    app.run()


if __name__ == "__main__":
    main()
