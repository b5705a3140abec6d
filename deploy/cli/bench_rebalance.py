"""`inventory bench rebalance`: stop, restart and add workers of the running stack."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.bench_faults import RunningHome
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment

if TYPE_CHECKING:
    from bench.rebalance import Step

_LEAVING: Final = "worker-2"
_BEFORE: Final = 2


def bench_rebalance(
    *,
    rounds: Annotated[int, typer.Option(help="Number of times that the steps are repeated.")] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the delay until workers show new sales, while workers stop, restart and join.

    The command needs a running stack, and sets the number of its workers to two. At the end, also
    after an error, it sets the former number again.
    """
    option_checks.check_int("--rounds", rounds)
    home = Home(default_home())
    load_environment(home)
    from bench.rebalance import run  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    former = len(RunningHome(home, Connections()).workers())
    service_commands.scale(home, _BEFORE)
    try:
        report = run(Connections(), _steps(home), rounds=rounds, progress=output.errors.print)
    finally:
        service_commands.scale(home, former)  # this also starts a worker that a step has stopped
    output.report(report, in_json=json)


def _steps(home: Home) -> "tuple[Step, ...]":
    from bench.rebalance import Step  # noqa: PLC0415 -- reads the environment
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    return (
        Step("stop of one", lambda: service_commands.stop(home, _LEAVING)),
        Step("start of one", lambda: service_commands.start(home, _LEAVING)),
        Step("rolling restart", lambda: service_commands.restart_rolling(home, lambda _: None)),
        Step("join of a third", lambda: service_commands.scale(home, _BEFORE + 1)),
        Step("leave of a third", lambda: service_commands.scale(home, _BEFORE)),
    )
