"""`inventory bench web`: measure the pages over a large read model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError

if TYPE_CHECKING:
    from bench.web.run import Server

LEAST_KEYS = 100


def bench_web(
    *,
    keys: Annotated[
        int, typer.Option(help="Number of keys in the read model, 100 or more.")
    ] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the generated retailer.")] = 1,
    rounds: Annotated[int, typer.Option(help="Requests of each page.")] = 30,
    streams: Annotated[
        int, typer.Option(help="Open event streams on one item; 0 leaves this part out.")
    ] = 1_000,
    changes: Annotated[int, typer.Option(help="Changes that each stream receives.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the pages over many keys: time, bytes, nodes, event streams. Needs no stack.

    Nodes are the elements of a page in the browser. The command starts a Postgres and a web server,
    but no Kafka. So it sends the changes for the event streams directly to the server.
    """
    option_checks.check_int("--keys", keys, least=LEAST_KEYS)
    option_checks.check_int("--seed", seed, least=0)
    option_checks.check_int("--rounds", rounds)
    option_checks.check_int("--streams", streams, least=0)
    option_checks.check_int("--changes", changes)
    from bench.web.run import Plan, run  # noqa: PLC0415 -- as above

    plan = Plan(keys, seed, rounds, streams, changes)
    with _database() as server:
        report = run(plan, server, output.errors.print)
    output.report(report, in_json=json)
    if report.streams_failure:
        raise StackError(report.streams_failure)


@contextmanager
def _database() -> Iterator["Server"]:
    """Run a migrated Postgres with the stack's settings, and at the end delete its directory.

    Yield Postgres' address, and the address and variables of the web server to start.
    """
    from bench.web.run import Server  # noqa: PLC0415 -- loads the trading code
    from deploy.peers import services  # noqa: PLC0415 -- only this command needs it
    from deploy.stack.context import Options  # noqa: PLC0415 -- as above

    options = Options(demo=True)  # so that the login needs no second factor
    with (
        services.scratch_context("inventory-web-", options, with_broker=False) as context,
        services.migrated_database(context),
    ):
        yield Server(
            database_url=context.database_url("postgres"),
            web_url=context.web_url,
            variables=context.environment("web", DJANGO_SETTINGS_MODULE="webui.config.settings"),
            directory=context.home.logs,
        )
