"""`inventory bench publish`: archive, recompute and publish a generated log."""

from typing import TYPE_CHECKING, Annotated

import typer

from deploy import output
from deploy.cli import option_checks

if TYPE_CHECKING:
    from cdc.settings import Connections


def bench_publish(
    *,
    keys: Annotated[int, typer.Option(help="Number of keys.")] = 100_000,
    records: Annotated[
        int, typer.Option(help="Number of generated records. Default: three per key.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the generated history.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure archive, recomputation and publication of a generated log. Needs no stack."""
    option_checks.check_int("--keys", keys)
    if records:
        option_checks.check_int("--records", records)
    from bench import publishing  # noqa: PLC0415 -- loads Arrow and the trading code
    from bench.backfill.archive import Size  # noqa: PLC0415 -- as above
    from deploy.peers import environments, services  # noqa: PLC0415 -- only this command needs them

    size = Size(records or 3 * keys, keys, seed)
    made = environments.make(["ours"], output.errors.print)
    with services.running(made, with_postgres=False) as (running, scratch):
        found = publishing.run(
            size, running.bootstrap, scratch / "home", _published, output.errors.print
        )
    output.report(found, in_json=json)


def _published(settings: "Connections", run: str) -> int:
    from deploy.revisions.publish import publish  # noqa: PLC0415 -- writes topics

    return publish(settings, run, output.errors.print, with_reviews=False).keys
