"""`inventory bench pipeline`: throughput and latency of a running stack.

The run has these parts, in this order:

1. Warm-up: lines that are not measured.
2. CPU time of each service at rest, while no line is written. Then the bench begins to measure
   CPU time and bytes per line. This measurement ends when the read model shows the last line of
   all parts.
3. Latency: single lines at a low rate, each with a new key. The time runs from the commit until the
   state is acknowledged, and until the read model shows it.
4. Paint latency: baskets of lines for the rows of open pages. The time runs from the commit until
   a browser has painted the changed number.
5. Sustained rate: lines at a planned rate for some seconds. The time ends when the workers'
   acknowledged state includes the last line of every partition. Meanwhile one line per second has
   a new key. The times of these lines show how far the read model is behind the workers.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg

from bench.load import Load, batch_of, percentile, planned
from bench.pipeline_report import Latency, PipelineReport, Sustained
from bench.screen import Screen, measure_screen
from bench.service_bytes import ByteMeter
from bench.service_cpu import CpuMeter
from bench.watch import Changelog, ReadModel
from cdc.settings import Connections

RATES: Final = (2000, 4000, 6000)
LATENCY_RATE: Final = 100
_KEYS: Final = 5000
_DRAIN_S: Final = 120.0
_SHOWN_S: Final = 300.0
_SUSTAINED_POLL_S: Final = 0.05  # more queries would slow down the services that are measured

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The measurements of `run`: rates in lines per second, each for `seconds`.

    `processes` maps names of services to pids. `rest_s` is the time in seconds for which their CPU
    time at rest is measured. Before that, lines at the lowest rate warm the services up for
    `warm_up_s`. Without this warm-up, the compilers of the JVMs would take more CPU time than the
    first lines. `broker` is the directory of the broker's topics; None leaves their bytes out.
    `paint_rate` is the rate at which paint latency is measured, with 1 to `basket` lines a commit.
    """

    rates: Sequence[int] = RATES
    seconds: float = 20.0
    latency_rate: int = LATENCY_RATE
    rest_s: float = 20.0
    warm_up_s: float = 30.0
    processes: Mapping[str, int] = field(default_factory=dict)
    broker: Path | None = None
    paint_rate: int = LATENCY_RATE
    basket: int = 1


def run(
    plan: Plan,
    *,
    screen: Screen | None = None,
    settings: Connections | None = None,
    progress: Progress = lambda _text: None,
) -> PipelineReport:
    """Measure the running stack. Return the report. The lines stay, at locations `BENCH-…`.

    Latencies come before the sustained rates, because after an overload they would include the time
    for catching up. Paint latency is measured only with a `screen`.
    """
    known = settings or Connections()
    url = known.database_url.get_secret_value()
    meter, written = CpuMeter(plan.processes), ByteMeter(url, plan.broker)
    if plan.warm_up_s:
        progress(f"warming up at {min(plan.rates)} lines/s for {plan.warm_up_s:g} s")
        measure_sustained(known, rate=min(plan.rates), seconds=plan.warm_up_s)
        _wait_until_shown(known)
    if plan.processes:
        progress(f"CPU time at rest for {plan.rest_s:g} s")
        meter.measure_rest(plan.rest_s)
    meter.start()
    written.start()
    progress(f"latency at {plan.latency_rate} lines/s for {plan.seconds:g} s")
    latency = measure_latency(known, rate=plan.latency_rate, seconds=plan.seconds)
    pixels = None
    if screen is not None:
        progress(f"{screen.pages} pages at {plan.paint_rate} lines/s for {plan.seconds:g} s")
        pixels = measure_screen(
            url, screen, rate=plan.paint_rate, seconds=plan.seconds, basket=plan.basket
        )
    sustained = []
    for rate in plan.rates:
        progress(f"{rate} lines/s for {plan.seconds:g} s")
        sustained.append(measure_sustained(known, rate=rate, seconds=plan.seconds))
    progress("waiting for the read model")
    _wait_until_shown(known)
    lines = latency.lines + sum(one.lines for one in sustained) + (pixels.lines if pixels else 0)
    return PipelineReport(
        tuple(sustained), latency, pixels, meter.per_line(lines), written.per_line(lines)
    )


def _wait_until_shown(settings: Connections) -> None:
    """Write a line in each partition, and return when the read model shows all these lines.

    Raises:
        BenchFailed: the read model lags behind for more than 300 s.
    """
    url = settings.database_url.get_secret_value()
    committed: dict[str, float] = {}
    with (
        psycopg.connect(url, autocommit=True) as connection,
        ReadModel(url, committed) as read_model,
    ):
        load = Load(connection)
        markers = load.markers(settings.partitions)
        load.insert(list(markers))
        committed |= {f"{load.location}|{sku}": time.monotonic() for sku in markers}
        read_model.wait(timeout_s=_SHOWN_S)


def measure_sustained(settings: Connections, *, rate: int, seconds: float) -> Sustained:
    """Write `rate` lines a second. Wait until workers and read model have all timed lines.

    Return the reached rate and the times. A timed line has a new key: one line per second, and a
    last line in each partition.

    Raises:
        BenchFailed: a timed line did not arrive.
    """
    url = settings.database_url.get_secret_value()
    committed: dict[str, float] = {}
    with (
        psycopg.connect(url, autocommit=True) as connection,
        Changelog(settings) as changelog,
        ReadModel(url, committed, poll_s=_SUSTAINED_POLL_S) as read_model,
    ):
        load = Load(connection)
        last_lines = load.markers(settings.partitions)
        started = time.monotonic()
        _write(load, rate, seconds, committed)
        lines, written = load.written, time.monotonic()
        load.insert(list(last_lines))
        ends = {f"{load.location}|{sku}" for sku in last_lines}
        committed |= dict.fromkeys(ends, time.monotonic())
        acknowledged = changelog.wait(set(committed), timeout_s=_DRAIN_S)
        shown = read_model.wait(timeout_s=_SHOWN_S)
    last = max(acknowledged[key] for key in ends)
    return Sustained(
        offered_per_s=rate,
        lines=lines,
        writing_s=written - started,
        acknowledged_s=last - started,
        drain_s=last - written,
        lines_per_s=lines / (last - started),
        shown_max_s=max(at - committed[key] for key, at in shown.items()),
        behind_max_s=max(at - acknowledged[key] for key, at in shown.items()),
    )


def _write(load: Load, rate: int, seconds: float, committed: dict[str, float]) -> None:
    """Write the lines of `measure_sustained`. Add the keys of timed lines to `committed`."""
    batch = batch_of(rate)
    for due_s in planned(rate, seconds, batch):
        first = load.written
        skus = [f"K{(first + number) % _KEYS}" for number in range(batch)]
        if is_timed := due_s >= len(committed):  # one per second: the n-th is due after n seconds
            skus[-1] = f"T{len(committed)}"
        load.insert(skus)
        if is_timed:
            committed[f"{load.location}|{skus[-1]}"] = time.monotonic()


def measure_latency(settings: Connections, *, rate: int, seconds: float) -> Latency:
    """Commit single lines at `rate`. Return the times until changelog and read model have them."""
    url = settings.database_url.get_secret_value()
    committed: dict[str, float] = {}
    with (
        psycopg.connect(url, autocommit=True) as connection,
        Changelog(settings) as changelog,
        ReadModel(url, committed) as read_model,
    ):
        load = Load(connection)
        for _due in planned(rate, seconds, 1):
            sku = f"L{load.written}"
            load.insert([sku])
            committed[f"{load.location}|{sku}"] = time.monotonic()
        acknowledged = changelog.wait(set(committed), timeout_s=_DRAIN_S)
        shown = read_model.wait(timeout_s=_DRAIN_S)
    state = sorted(max(0.0, at - committed[key]) * 1000 for key, at in acknowledged.items())
    screen = sorted(max(0.0, at - committed[key]) * 1000 for key, at in shown.items())
    return Latency(
        lines=len(committed),
        rate_per_s=rate,
        state_p50_ms=percentile(state, 500),
        state_p99_ms=percentile(state, 990),
        shown_p50_ms=percentile(screen, 500),
        shown_p99_ms=percentile(screen, 990),
        shown_max_ms=screen[-1],
    )
