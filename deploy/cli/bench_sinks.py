"""`inventory bench sinks`: measure each sink alone, on a separate broker and Postgres."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deploy import output
from deploy.cli import option_checks

if TYPE_CHECKING:
    from subprocess import Popen

    from bench.sinks.sinks import Place

LEAST_RECORDS = 1_000


def bench_sinks(
    *,
    records: Annotated[
        int, typer.Option(help="Number of generated facts in stock.events, 1000 or more.")
    ] = 500_000,
    keys: Annotated[int, typer.Option(help="Number of keys.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Seed of the generated history.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure archiver, projector, actuator and live feed, each alone. Needs no stack.

    Before the measurement, the command itself computes the records that workers would write. It
    ends with an error if a process skips records or writes wrong contents.
    """
    option_checks.check_int("--records", records, least=LEAST_RECORDS)
    option_checks.check_int("--keys", keys)
    option_checks.check_int("--seed", seed, least=0)
    from bench.backfill.archive import Size  # noqa: PLC0415 -- loads Arrow and the trading code
    from bench.sinks.run import run  # noqa: PLC0415 -- as above

    with _place() as place:
        report = run(Size(records, keys, seed), place, output.errors.print)
    output.report(report, in_json=json)


@contextmanager
def _place() -> Iterator["Place"]:
    """Run a broker and a migrated Postgres until the block ends, and then delete their directory.

    Yield their addresses and pids, and a function that starts the process to measure.
    """
    from bench.sinks.sinks import Place  # noqa: PLC0415 -- loads the trading code
    from deploy.peers import services  # noqa: PLC0415 -- only this command needs it
    from deploy.stack.home import PROJECT  # noqa: PLC0415 -- as above
    from deploy.stack.processes import spawn  # noqa: PLC0415 -- as above

    with (
        services.scratch_context("inventory-sinks-", with_broker=True) as context,
        services.broker(context) as broker_pid,
        services.migrated_database(context) as postgres_pid,
    ):

        def start(service: str, arguments: Sequence[str], log: Path) -> "Popen[bytes]":
            return spawn(
                [sys.executable, *arguments],
                environment=context.environment(service),
                directory=PROJECT,
                log=log,
            )

        yield Place(
            bootstrap=context.kafka_bootstrap,
            database_url=context.database_url("postgres"),
            broker_pid=broker_pid,
            postgres_pid=postgres_pid,
            home=context.home.path,
            start=start,
        )
