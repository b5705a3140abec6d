"""`inventory bench faults`: faults injected into the running stack of INVENTORY_HOME."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bench.faults.plan import KINDS
from deploy import output
from deploy.cli import bench_all_faults, given
from deploy.errors import StackError
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
        from deploy.stack.workforce import PREFIX  # noqa: PLC0415 -- loads the supervisor

        return sorted(name for name in read_runtime(self._home).services if name.startswith(PREFIX))

    def pid_of(self, service: str) -> int | None:
        """Return the service's process id, or None while it has no process."""
        entry = read_runtime(self._home).services[service]
        if entry.pid is None or not alive(ProcessId(entry.pid, entry.started_ticks)):
            return None
        return entry.pid


def bench_faults(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really kill processes.")] = False,
    rounds: Annotated[int, typer.Option(help="How many faults.")] = 20,
    seed: Annotated[int, typer.Option(help="Same seed, same faults.")] = 1,
    kinds: Annotated[
        str, typer.Option(help="Of kill, kill-all, freeze, sinks, connect, broker.")
    ] = "kill,kill-all,freeze,sinks,connect,broker",
    freeze: Annotated[float, typer.Option(help="Seconds of a freeze.")] = 20.0,
    every: Annotated[
        float | None, typer.Option(help="Seconds between faults, without waiting for keys.")
    ] = None,
    every_kind: Annotated[
        bool, typer.Option("--all", help="Every fault there is, on a stack of its own.")
    ] = False,
    only: Annotated[str, typer.Option(help="With --all: parts of faults' names.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Kill and freeze parts of the running stack under load, then verify. Exit 1 if it differs."""
    if every_kind:
        raise typer.Exit(0 if bench_all_faults.run(only, json=json) else 1)
    given.whole("--rounds", rounds)
    given.seconds("--freeze", freeze)
    given.seconds("--every", every)
    chosen = tuple(kinds.split(","))
    for kind in chosen:
        given.one_of("--kinds", kind, KINDS)
    home = Home(default_home())
    load_environment(home)
    if not yes:
        message = f"processes of {home.path} would be killed"
        raise StackError(message, repair="inventory bench faults --yes")
    from bench.faults import run  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above

    stack: Stack = RunningHome(home, Connections())
    wish = run.Plan(seed, rounds, chosen, freeze, every)
    report = run.run(stack, wish, output.errors.print)
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())
    raise typer.Exit(0 if report.ok else 1)
