"""`inventory bench verify`: comparisons of the running stack under load, some with a wrong row."""

from typing import Annotated

import typer

from deploy import output
from deploy.cli import given
from deploy.errors import StackError
from deploy.stack.runtime import load_environment

_LEAST: int = 2


def bench_verify(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really write wrong rows.")] = False,
    rounds: Annotated[int, typer.Option(help="How many comparisons.")] = 100,
    load: Annotated[int, typer.Option(help="Sale lines a second.")] = 165,
    seed: Annotated[int, typer.Option(help="Same seed, same sales.")] = 1,
    plant_every: Annotated[
        int, typer.Option(help="Every so many rounds one row is wrong; the kinds take turns.")
    ] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for what is behind.")] = 300.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Run verify again and again under load. Exit 1 on a false alarm or a missed wrong row.

    Wrong rows are written for a location of this run alone and put back after each comparison.
    """
    given.whole("--rounds", rounds)
    given.whole("--load", load)
    given.whole("--plant-every", plant_every, least=_LEAST)
    given.seconds("--timeout", timeout, least=1)
    load_environment()
    if not yes:
        message = (
            "wrong rows would be written for a moment into read model, changelog and proposals"
        )
        raise StackError(message, repair="inventory bench verify --yes")
    from bench.verification import run  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above

    plan = run.Plan(rounds, load, seed, plant_every, timeout)
    report = run.run(Connections(), plan, output.errors.print)
    if json:
        output.as_json(report.as_json())
    else:
        title = f"{report.lines} sale lines, at rest exit {report.at_rest}"
        output.table(title, run.COLUMNS, report.rows())
    raise typer.Exit(0 if report.ok else 1)
