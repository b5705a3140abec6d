"""Subcommands that measure: `inventory bench NAME`, one function per name."""

from typing import Annotated

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.bench_backfill import bench_backfill
from deploy.cli.bench_faults import bench_faults
from deploy.cli.bench_fold import bench_fold
from deploy.cli.bench_hot import bench_hot
from deploy.cli.bench_peers import bench_peers
from deploy.cli.bench_pipeline import bench_pipeline
from deploy.cli.bench_publish import bench_publish
from deploy.cli.bench_rebalance import bench_rebalance
from deploy.cli.bench_sinks import bench_sinks
from deploy.cli.bench_verify import bench_verify
from deploy.cli.bench_web import bench_web
from deploy.cli.bench_workers import bench_workers
from deploy.cli.measured import measured
from deploy.errors import StackError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LEAST_ITEMS = 4
MOST_DAYS = 36_500  # a century; the rules refuse times after the year 2255

bench = typer.Typer(
    help="Measure speed, restores, faults and replenishment rules.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    bench.command("backfill")(bench_backfill)
    bench.command("faults")(measured(bench_faults))
    bench.command("fold")(bench_fold)
    bench.command("hot")(measured(bench_hot))
    bench.command("peers")(measured(bench_peers))
    bench.command("pipeline")(measured(bench_pipeline))
    bench.command("publish")(measured(bench_publish))
    bench.command("rebalance")(measured(bench_rebalance))
    bench.command("sinks")(measured(bench_sinks))
    bench.command("verify")(measured(bench_verify))
    bench.command("web")(bench_web)
    bench.command("workers")(measured(bench_workers))
    app.add_typer(bench, name="bench")


@bench.command("policy")
@measured
def bench_policy(
    *,
    seed: Annotated[int, typer.Option(help="Seed of the random items and their demand.")] = 1,
    items: Annotated[
        int, typer.Option(help="Number of items, a quarter for each of four kinds of demand.")
    ] = 100,
    days: Annotated[int, typer.Option(help="Days to simulate, at most 36500.")] = 364,
    json: Json = False,
) -> None:
    """Compare replenishment rules in a simulated year: fill rate, stock, orders, waste, margin."""
    if items < LEAST_ITEMS:
        message = f"--items {items}: expected {LEAST_ITEMS} or more, so that each class has an item"
        raise StackError(message)
    option_checks.check_int("--days", days, most=MOST_DAYS)
    from bench import policy  # noqa: PLC0415 -- only this command needs it

    report = policy.run(seed=seed, number=items, days=days, progress=output.errors.print)
    if json:
        output.as_json(report.as_json())
        return
    for title, columns, rows in report.tables():
        output.table(title, columns, rows)


@bench.command("restore")
@measured
def bench_restore(
    *,
    keys: Annotated[
        int, typer.Option(help="Number of keys over all partitions, 12 or more.")
    ] = 120_000,
    seed: Annotated[int, typer.Option(help="Seed of the random keys.")] = 1,
    json: Json = False,
) -> None:
    """Measure how long a restore takes, from changelogs and from snapshots. Needs no stack."""
    option_checks.check_int("--keys", keys, least=12)
    from bench.restore import run  # noqa: PLC0415 -- loads the trading code

    report = run(keys=keys, seed=seed)
    output.report(report, in_json=json)


@bench.command("simulate")
@measured
def bench_simulate(
    *,
    seeds: Annotated[int, typer.Option(help="Number of random histories.")] = 10_000,
    start: Annotated[int, typer.Option(help="First seed.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Run this seed only.")] = None,
    workers: Annotated[int, typer.Option(help="Number of parallel processes.")] = 1,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Run the history of --seed with only these steps and faults, each numbered "
            "from 0: 0,3/1 keeps steps 0 and 3 and fault 1."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run the engine against random crashes, rebalances and clock steps. Needs no stack.

    Exit 1 if a guarantee of the engine is violated. After Ctrl-C, the command prints the results so
    far and the next seed, and ends with exit code 130.
    """
    option_checks.check_int("--seeds", seeds)
    option_checks.check_int("--start", start, least=0)
    option_checks.check_int("--workers", workers)
    if seed is not None:
        option_checks.check_int("--seed", seed, least=0)
        start, seeds = seed, 1
    from bench import simulate  # noqa: PLC0415 -- only this command needs it
    from bench.simulation import batches  # noqa: PLC0415 -- as above

    if keep is not None:
        kept = _parse_kept(keep)
        _refuse_missing(keep, kept, batches.sizes(start))
        found = batches.replay(start, kept)
        output.plain("no check failed" if found is None else found.as_text())
        raise typer.Exit(0 if found is None else 1)
    report = simulate.run(start=start, seeds=seeds, workers=workers, progress=output.errors.print)
    output.report(report, in_json=json)
    raise typer.Exit(report.exit_code)


def _parse_kept(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indexes of steps and of faults in `text`: ((0, 3), (1,)) for `0,3/1`.

    A dash means no index: ((0, 3), ()) for `0,3/-`.

    Raises:
        StackError: `text` has another form, or a negative index.
    """
    try:
        steps, faults = (
            () if part == "-" else tuple(map(int, part.split(","))) for part in text.split("/")
        )
        if min(0, *steps, *faults) < 0:
            raise ValueError  # noqa: TRY301 -- a negative index is invalid, too
    except ValueError:
        message = f"--keep {text!r}: expected numbers of steps and faults, like 0,3/1 or 0,3/-"
        raise StackError(message) from None
    return steps, faults


def _refuse_missing(
    text: str, kept: tuple[tuple[int, ...], tuple[int, ...]], sizes: tuple[int, int]
) -> None:
    """Raise `StackError` if `kept` has an index of a step or fault that the history lacks.

    `sizes` are the numbers of steps and of faults in the history. `text` is the option, for the
    message.
    """
    if any(max(places, default=-1) >= size for places, size in zip(kept, sizes, strict=True)):
        steps, faults = sizes
        message = f"--keep {text!r}: this seed has {steps} steps and {faults} faults, from 0 on"
        raise StackError(message)
