"""Subcommands that measure: `inventory bench NAME`, one function per name."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deploy import output
from deploy.artifacts.prerequisites import CHROMIUM, find
from deploy.cli import option_checks
from deploy.cli.bench_backfill import bench_backfill
from deploy.cli.bench_faults import bench_faults
from deploy.cli.bench_fold import bench_fold
from deploy.cli.bench_hot import bench_hot
from deploy.cli.bench_peers import bench_peers
from deploy.cli.bench_publish import bench_publish
from deploy.cli.bench_rebalance import bench_rebalance
from deploy.cli.bench_verify import bench_verify
from deploy.cli.bench_web import bench_web
from deploy.cli.bench_workers import bench_workers
from deploy.cli.measured import measured
from deploy.errors import StackError
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment, read_runtime

if TYPE_CHECKING:
    from bench.screen import Screen

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LEAST_ITEMS = 4
MOST_IN_BASKET = 50  # rows of the open page, each once in a basket

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
    bench.command("publish")(measured(bench_publish))
    bench.command("rebalance")(measured(bench_rebalance))
    bench.command("verify")(measured(bench_verify))
    bench.command("web")(bench_web)
    bench.command("workers")(measured(bench_workers))
    app.add_typer(bench, name="bench")


@bench.command("pipeline")
@measured
def bench_pipeline(
    *,
    rates: Annotated[
        str, typer.Option(help="Sale lines a second, one round for each number.")
    ] = "2000,4000,6000",
    seconds: Annotated[float, typer.Option(help="Seconds for each rate.")] = 20.0,
    latency_rate: Annotated[
        int, typer.Option(help="Sale lines a second while latency is measured.")
    ] = 100,
    paint_rate: Annotated[
        int, typer.Option(help="Sale lines a second for the rows of the open pages.")
    ] = 100,
    basket: Annotated[
        int, typer.Option(help="Most lines of one commit for the open pages, 1 to 50.")
    ] = 1,
    pages: Annotated[
        int,
        typer.Option(help="Open pages: one in a browser, the others as event streams without one."),
    ] = 1,
    rest: Annotated[
        float, typer.Option(help="Seconds for which CPU time is measured without any sale line.")
    ] = 20.0,
    warm_up: Annotated[
        float,
        typer.Option(help="Seconds of warm-up with sale lines at the lowest rate; 0 for none."),
    ] = 30.0,
    json: Json = False,
) -> None:
    """Measure the time from a commit to state, read model and page, and CPU time per sale line."""
    offered = option_checks.parse_ints("--rates", rates, "2000,4000")
    for name, number in (("latency", latency_rate), ("paint", paint_rate)):
        option_checks.check_int(f"--{name}-rate", number)
    option_checks.check_int("--basket", basket, most=MOST_IN_BASKET)
    option_checks.check_int("--pages", pages)
    option_checks.check_seconds("--seconds", seconds, least=1)
    option_checks.check_seconds("--rest", rest, least=1)
    option_checks.check_seconds("--warm-up", warm_up)
    load_environment()
    from bench import pipeline  # noqa: PLC0415 -- reads the environment

    plan = pipeline.Plan(
        offered,
        seconds,
        latency_rate,
        rest,
        warm_up,
        _processes(),
        _broker_directory(),
        paint_rate,
        basket,
    )
    report = pipeline.run(plan, screen=_screen(pages), progress=output.errors.print)
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())


def _processes() -> dict[str, int]:
    """Return the pid of each service of this machine's stack, and of its supervisor."""
    from bench.service_cpu import SUPERVISOR  # noqa: PLC0415 -- only this command needs it

    runtime = read_runtime(Home(default_home()))
    if not runtime.running:
        return {}
    found = {name: entry.pid for name, entry in runtime.services.items() if entry.pid}
    return found | {SUPERVISOR: runtime.supervisor_pid}


def _broker_directory() -> Path | None:
    """Return the directory of the topics of this machine's stack."""
    directory = Home(default_home()).kafka
    return directory if directory.is_dir() else None


def _screen(pages: int) -> "Screen | None":
    """Return the demo's stock page in a browser. If that is impossible, print why; return None."""
    from bench.screen import Screen  # noqa: PLC0415 -- only this command needs it
    from deploy.stack.proof import PERSON, logins  # noqa: PLC0415 -- loads a web client

    home = Home(default_home())
    chromium = find(CHROMIUM)
    if chromium is None or find_spec("playwright") is None or not home.has_demo():
        output.errors.print(
            "screens are not measured: this needs Chromium, playwright and the demo's logins"
        )
        return None
    url = read_runtime(home).services["web"].url or ""
    return Screen(url, PERSON, logins(home)[PERSON], chromium, pages)


@bench.command("policy")
@measured
def bench_policy(
    *,
    seed: Annotated[int, typer.Option(help="Seed of the random items and their demand.")] = 1,
    items: Annotated[int, typer.Option(help="Number of items; each class gets a quarter.")] = 100,
    days: Annotated[int, typer.Option(help="Days to simulate.")] = 364,
    json: Json = False,
) -> None:
    """Compare replenishment rules in a simulated year: fill rate, stock, orders, waste, margin."""
    if items < LEAST_ITEMS:
        message = f"--items {items}: expected {LEAST_ITEMS} or more, so that each class has an item"
        raise StackError(message)
    option_checks.check_int("--days", days)
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
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())


@bench.command("simulate")
def bench_simulate(
    *,
    seeds: Annotated[int, typer.Option(help="Number of random histories.")] = 10_000,
    start: Annotated[int, typer.Option(help="First seed.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Run this seed only.")] = None,
    workers: Annotated[int, typer.Option(help="Number of parallel processes.")] = 1,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Run only these steps and faults of the history of --start, by index from 0. "
            "0,3/1 keeps two steps and one fault."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run the engine against random crashes, rebalances and clock steps. Needs no stack.

    Exit 1 if a guarantee of the engine is violated. Ctrl-C prints the results so far and the next
    seed, with exit code 130.
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
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())
    raise typer.Exit(report.exit_code)


def _parse_kept(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of steps and of faults in a text like 0,3/1; a dash means none."""
    try:
        steps, faults = (
            () if part == "-" else tuple(map(int, part.split(","))) for part in text.split("/")
        )
        if min(0, *steps, *faults) < 0:
            raise ValueError  # noqa: TRY301 -- a negative position is invalid, too
    except ValueError:
        message = f"--keep {text!r}: expected numbers of steps and faults, like 0,3/1 or 0,3/-"
        raise StackError(message) from None
    return steps, faults


def _refuse_missing(
    text: str, kept: tuple[tuple[int, ...], tuple[int, ...]], sizes: tuple[int, int]
) -> None:
    """Raise `StackError` for positions beyond the seed's history."""
    if any(max(places, default=-1) >= size for places, size in zip(kept, sizes, strict=True)):
        steps, faults = sizes
        message = f"--keep {text!r}: this seed has {steps} steps and {faults} faults, from 0 on"
        raise StackError(message)
