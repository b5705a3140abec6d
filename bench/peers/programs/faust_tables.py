"""Faust as in its documentation: one agent, one table, one windowed table.

Only settings that the job needs differ from the defaults: no standby, a commit every second as for
the other peers, and no expiry. Faust expires windows by the wall clock and would drop windows of
an earlier day.
"""

from datetime import datetime

import faust

from bench.peers.programs.options import Options, read_options
from bench.peers.sales import WINDOW_S
from cdc.contracts.topics import PARTITIONS


def business_time(event: faust.EventT) -> float:
    """Return the business time of a line in seconds, for the windows."""
    return datetime.fromisoformat(event.value["after"]["occurred_at"]).timestamp()


def build(options: Options) -> faust.App:
    """Return the app with its agent and tables."""
    app = faust.App(
        options.name,
        broker=f"kafka://{options.bootstrap}",
        store="memory://",
        datadir=str(options.directory / "faust"),
        topic_partitions=PARTITIONS,
        topic_replication_factor=1,
        table_standby_replicas=0,
        broker_commit_interval=1.0,
        broker_session_timeout=6,
        broker_heartbeat_interval=2,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
    )
    sales = app.topic(options.topic, key_serializer="raw", value_serializer="json")
    on_hand = app.Table("on_hand", default=int, partitions=PARTITIONS)
    windows = app.Table("windows", default=int, partitions=PARTITIONS)
    per_window = windows.tumbling(WINDOW_S, expires=None).relative_to(business_time)

    @app.agent(sales)
    async def count(stream: faust.StreamT) -> None:
        first = True
        async for key, line in stream.items():
            if first:
                options.mark_first()
                first = False
            name, units = key.decode(), line["after"]["quantity_units"]
            on_hand[name] -= units
            per_window[name] += units

    return app


def main() -> None:
    """Run until SIGTERM."""
    worker = faust.Worker(build(read_options()), loglevel="WARNING", redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


if __name__ == "__main__":
    main()
