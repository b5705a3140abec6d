"""`inventory bench faults`: kill and freeze processes of the running stack of INVENTORY_HOME."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bench.faults.plan import KINDS
from deploy import output
from deploy.cli import bench_all_faults, option_checks
from deploy.errors import StackError
from deploy.stack.context import WORKER_PREFIX
from deploy.stack.home import Home, default_home
from deploy.stack.processes import ProcessId, alive
from deploy.stack.runtime import load_environment, read_runtime

if TYPE_CHECKING:
    from bench.faults.run import Stack
    from cdc.settings import Connections


class RunningHome:
    """The running stack of one home."""

    def __init__(self, home: Home, settings: "Connections") -> None:
        self._home = home
        self.settings = settings

    def workers(self) -> Sequence[str]:
        """Return the names of the stream workers."""
        return sorted(
            name for name in read_runtime(self._home).services if name.startswith(WORKER_PREFIX)
        )

    def pid_of(self, service: str) -> int | None:
        """Return the service's process id, or None while it has no process."""
        entry = read_runtime(self._home).services[service]
        if entry.pid is None or not alive(ProcessId(entry.pid, entry.started_ticks)):
            return None
        return entry.pid


def bench_faults(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm that processes are killed.")] = False,
    rounds: Annotated[int, typer.Option(help="Number of faults.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the random faults.")] = 1,
    kinds: Annotated[
        str, typer.Option(help="Kinds of faults to choose from, separated by commas.")
    ] = "kill,kill-all,freeze,sinks,connect,broker",
    freeze: Annotated[float, typer.Option(help="Seconds for which a process is suspended.")] = 20.0,
    every: Annotated[
        float | None,
        typer.Option(
            help="Seconds between faults. Default: wait until the workers show a new sale."
        ),
    ] = None,
    every_kind: Annotated[
        bool, typer.Option("--all", help="Cause every known fault once, on a separate stack.")
    ] = False,
    only: Annotated[
        str,
        typer.Option(help="With --all: only faults whose names contain one of these texts."),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Kill and freeze processes of the running stack under load, and then run `verify`.

    A frozen process gets SIGSTOP, and some seconds later SIGCONT. Exit 1 if `verify` finds a
    difference.
    """
    if every_kind:
        raise typer.Exit(0 if bench_all_faults.run(only, json=json) else 1)
    option_checks.check_int("--rounds", rounds)
    option_checks.check_seconds("--freeze", freeze)
    option_checks.check_seconds("--every", every)
    chosen = tuple(kinds.split(","))
    for kind in chosen:
        option_checks.check_choice("--kinds", kind, KINDS)
    home = Home(default_home())
    load_environment(home)
    if not yes:
        message = f"processes of {home.path} would be killed; none was killed"
        raise StackError(message, repair="inventory bench faults --yes")
    from bench.faults import run  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above

    stack: Stack = RunningHome(home, Connections())
    plan = run.Plan(seed, rounds, chosen, freeze, every)
    report = run.run(stack, plan, output.errors.print)
    output.report(report, in_json=json)
    raise typer.Exit(0 if report.ok else 1)
