"""`inventory bench workers`: one worker and two on the same log, on a broker of its own."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from deploy import compiled_rules, output
from deploy.cli import given
from deploy.stack.home import default_home
from deploy.stack.ports import free_port


def bench_workers(
    *,
    records: Annotated[int, typer.Option(help="Sale lines, produced once.")] = 300_000,
    keys: Annotated[int, typer.Option(help="Keys to draw from, by Zipf's law.")] = 20_000,
    rounds: Annotated[int, typer.Option(help="Blocks; every other one backwards.")] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds for one run.")] = 900.0,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="With machine code, made first if it is not there.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure what a second worker brings, and how long questions wait meanwhile."""
    for name, number in (("records", records), ("keys", keys), ("rounds", rounds)):
        given.whole(f"--{name}", number)
    given.seconds("--timeout", timeout, least=1)
    from bench.scaling.run import Plan, run  # noqa: PLC0415 -- loads clients and trading code
    from deploy.peers import environments, services  # noqa: PLC0415 -- late like their user

    tell = output.errors.print
    form = _compiled(tell) if compiled else {}
    made = environments.make(["ours"], tell)
    plan = Plan(records, keys, rounds, timeout)
    with services.running(made, with_postgres=False, worker_variables=form) as (running, scratch):
        report = run(plan, running, _ports, scratch, tell)
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())


def _compiled(tell: Callable[[str], None]) -> dict[str, str]:
    tell(f"compiled rules: {compiled_rules.ensure(default_home())}")
    return compiled_rules.environment(default_home())


def _ports(number: int) -> Sequence[int]:
    found: list[int] = []
    for _ in range(number):
        found.append(free_port(found))
    return found
