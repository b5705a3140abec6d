"""`inventory bench pipeline`: measure throughput and latency of the stack of INVENTORY_HOME."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output
from deploy.artifacts.prerequisites import CHROMIUM, HEADLESS, find
from deploy.cli import option_checks
from deploy.stack.home import Home, default_home
from deploy.stack.runtime import load_environment, read_runtime

if TYPE_CHECKING:
    from bench.pipeline import Plan
    from bench.screen import Screen

MOST_IN_BASKET: Final = 50  # rows of the open page; a basket has each row at most once

Rates = Annotated[
    str, typer.Option(help="Sale lines a second, separated by commas; a round for each number.")
]
Seconds = Annotated[float, typer.Option(help="Seconds for each rate.")]
LatencyRate = Annotated[int, typer.Option(help="Sale lines a second while latency is measured.")]
PaintRate = Annotated[int, typer.Option(help="Sale lines a second while the open pages are timed.")]
Basket = Annotated[
    int,
    typer.Option(
        help="Largest number of sale lines in one commit while the open pages are timed, 1 to 50."
    ),
]
Pages = Annotated[
    int,
    typer.Option(help="Open pages: one in a browser, the others as event streams only."),
]
Rest = Annotated[
    float, typer.Option(help="Seconds for which CPU time is measured without any sale line.")
]
WarmUp = Annotated[
    float, typer.Option(help="Seconds of warm-up with sale lines at the lowest rate; 0 for none.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bench_pipeline(
    *,
    rates: Rates = "2000,4000,6000",
    seconds: Seconds = 20.0,
    latency_rate: LatencyRate = 100,
    paint_rate: PaintRate = 100,
    basket: Basket = 1,
    pages: Pages = 1,
    rest: Rest = 20.0,
    warm_up: WarmUp = 30.0,
    json: Json = False,
) -> None:
    """Measure the time from a commit to worker, read model and page, and CPU time per sale line."""
    offered = option_checks.parse_ints("--rates", rates, "2000,4000")
    for name, number in (("latency-rate", latency_rate), ("paint-rate", paint_rate)):
        option_checks.check_int(f"--{name}", number)
    option_checks.check_int("--basket", basket, most=MOST_IN_BASKET)
    option_checks.check_int("--pages", pages)
    option_checks.check_seconds("--seconds", seconds, least=1)
    option_checks.check_seconds("--rest", rest, least=1)
    option_checks.check_seconds("--warm-up", warm_up)
    load_environment()
    from bench import pipeline  # noqa: PLC0415 -- reads the environment

    services, topics = _processes(), _broker_directory()
    lengths = (seconds, latency_rate, rest, warm_up)
    plan: Plan = pipeline.Plan(offered, *lengths, services, topics, paint_rate, basket)
    report = pipeline.run(plan, screen=_screen(pages), progress=output.errors.print)
    output.report(report, in_json=json)


def _processes() -> dict[str, int]:
    """Return the pids of this machine's stack by service name, and the supervisor's pid."""
    from bench.service_cpu import SUPERVISOR  # noqa: PLC0415 -- only this command needs it

    runtime = read_runtime(Home(default_home()))
    if not runtime.running:
        return {}
    found = {name: entry.pid for name, entry in runtime.services.items() if entry.pid}
    return found | {SUPERVISOR: runtime.supervisor_pid}


def _broker_directory() -> Path | None:
    """Return the directory of the broker's topics in this machine's stack, or None."""
    directory = Home(default_home()).kafka
    return directory if directory.is_dir() else None


def _screen(pages: int) -> "Screen | None":
    """Return the page to measure: the demo's stock page, with an account and a browser.

    If the browser or the demo is missing, print the reason and return None.
    """
    from bench.screen import Screen  # noqa: PLC0415 -- only this command needs it
    from deploy.stack.proof import PERSON, logins, page_url  # noqa: PLC0415 -- loads a web client

    home = Home(default_home())
    # Prefer the browser that people use. The earlier figures are from it, too.
    chromium = find(CHROMIUM) or find(HEADLESS)
    if chromium is None or find_spec("playwright") is None or not home.has_demo():
        output.errors.print(
            "screens are not measured: this needs Chromium, playwright and the demo's logins"
        )
        return None
    return Screen(page_url(home), PERSON, logins(home)[PERSON], chromium, pages)
