"""`inventory bench workers`: compare one worker with two on the same log, on a separate broker."""

from collections.abc import Sequence
from typing import Annotated

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.stack.ports import free_port


def bench_workers(
    *,
    records: Annotated[
        int, typer.Option(help="Number of sale lines in the input topic.")
    ] = 300_000,
    keys: Annotated[
        int, typer.Option(help="Number of keys; their popularity follows Zipf's law.")
    ] = 20_000,
    rounds: Annotated[
        int, typer.Option(help="Rounds; every second round runs in reverse order.")
    ] = 2,
    timeout: Annotated[float, typer.Option(help="Time limit of one run in seconds.")] = 900.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare one worker with two: records per second, and latency of queries under this load."""
    for name, number in (("records", records), ("keys", keys), ("rounds", rounds)):
        option_checks.check_int(f"--{name}", number)
    option_checks.check_seconds("--timeout", timeout, least=1)
    from bench.scaling.run import Plan, run  # noqa: PLC0415 -- loads clients and trading code
    from deploy.peers import environments, services  # noqa: PLC0415 -- only this command needs them

    progress = output.errors.print
    made = environments.make(["ours"], progress)
    plan = Plan(records, keys, rounds, timeout)
    with services.running(made, with_postgres=False) as (running, scratch):
        report = run(plan, running, _ports, scratch, progress)
    output.report(report, in_json=json)


def _ports(number: int) -> Sequence[int]:
    found: list[int] = []
    for _ in range(number):
        found.append(free_port(found))
    return found
