"""`inventory bench verify`: run `verify` under load, in some rounds with a planted wrong row."""

from typing import Annotated

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.bench_faults import RunningHome
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment
from inventory.explain.formatting import counted_text


def bench_verify(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the writing of wrong rows.")] = False,
    rounds: Annotated[int, typer.Option(help="Number of comparisons.")] = 100,
    load: Annotated[int, typer.Option(help="Sale lines a second during the run.")] = 165,
    seed: Annotated[int, typer.Option(help="Seed of the random sales.")] = 1,
    plant_every: Annotated[
        int, typer.Option(help="Plant a wrong row in every Nth round, each kind in turn.")
    ] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for late workers.")] = 300.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test `verify`: run it many times under load, with and without a planted wrong row.

    Each wrong row exists for one round. Exit 1 if `verify` reported a difference although the data
    were correct, missed a wrong row, or reported another key. Exit 2 if a round had no result.
    """
    option_checks.check_int("--rounds", rounds)
    option_checks.check_int("--load", load)
    option_checks.check_int("--plant-every", plant_every)
    option_checks.check_seconds("--timeout", timeout, least=1)
    home = Home(default_home())
    load_environment(home)
    if not yes:
        message = (
            "this test would write wrong rows into read model, changelogs and proposals for a"
            " moment, and would kill workers; nothing was written"
        )
        raise StackError(message, repair="inventory bench verify --yes")
    from bench.verification import report, run  # noqa: PLC0415 -- reads the environment
    from cdc.settings import Connections  # noqa: PLC0415 -- as above

    settings = Connections()
    plan = report.Plan(rounds, load, seed, plant_every, timeout)
    owner = Owners(home, settings).pid_of_owner
    found = run.run(settings, owner, plan, output.errors.print)
    if found.problem is not None:
        output.errors.print(
            f"ended after {len(found.rounds)} of {rounds} rounds: {found.problem};"
            " wrong rows may still be there; `inventory verify` shows them"
        )
    if json:
        output.as_json(found.as_json())
    else:
        title = (
            f"{counted_text(found.lines, 'sale line')} in {found.seconds:.0f} s; comparison after "
            f"the last sale: exit code {found.at_rest}"
        )
        output.table(title, report.COLUMNS, found.rows())
    raise typer.Exit(found.exit_code)


class Owners(RunningHome):
    """The running stack of a home, with a method that finds the worker of a partition."""

    def pid_of_owner(self, partition: int) -> int | None:
        """Return the pid of the worker that serves the partition, or None while no worker does."""
        from deploy.stack import worker_queries  # noqa: PLC0415 -- other commands start without it

        for row in worker_queries.partitions(self.settings):
            if row["partition"] == partition and row["state"] == worker_queries.RUNNING:
                return self.pid_of(row["worker"])
        return None
