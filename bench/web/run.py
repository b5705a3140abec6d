"""The steps of `inventory bench web`: fill a database, serve pages, request them, and report."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from subprocess import Popen
from typing import Any, Final

import httpx
import psycopg

from bench.children import log_tail, stop
from bench.errors import BenchFailed
from bench.load import percentile
from bench.machine import machine
from bench.web import streams
from bench.web.browser import Answer, Browser, FirstLoad
from bench.web.cases import Case, cases, ranged
from bench.web.fill import Progress, fill
from bench.web.retailer import KEY, Retailer, retailer
from bench.web.server import KEY as CHANGED_KEY
from bench.web.server import LEVEL
from bench.web.streams import Fanout
from cdc.contracts.state import decode_level, encode_level
from inventory.model.ids import InvKey, Position
from webui.readmodel.figures import units_text

_PERSON: Final = "bench"
_STARTED_S: Final = 120.0
_POLL_S: Final = 0.1
_FIRST_UNITS: Final = 50_000  # more units than any level has, so that each change has its own text
_MEGABYTE: Final = 1 << 20
_COLUMNS: Final = (
    f"{'page':<28} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'gzip B':>8} {'nodes':>6} {'rows':>5}"
)
_SIZES: Final = """
SELECT pg_table_size('read_model.stock'), pg_indexes_size('read_model.stock')
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run: keys, rounds of requests, event streams, and changes for the streams."""

    keys: int
    seed: int
    rounds: int
    streams: int
    changes: int


@dataclass(frozen=True, slots=True)
class Server:
    """A migrated database, and the address and environment of a web server that uses it."""

    database_url: str
    web_url: str
    variables: Mapping[str, str]
    directory: Path


@dataclass(frozen=True, slots=True)
class Page:
    """A measured page: milliseconds of all rounds; bytes, elements and rows of the last answer."""

    name: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    wire_bytes: int
    nodes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Report:
    """The measurements of a run, with the machine, and the load before and after the requests.

    `streams_failure` is the reason why there is no `fanout`, or "".
    """

    plan: Plan
    machine: str
    load: tuple[float, float]
    table_mb: float
    index_mb: float
    pages: tuple[Page, ...]
    first_load: FirstLoad
    fanout: Fanout | None
    streams_failure: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    def as_text(self) -> str:
        """Return the report as a table."""
        plan, (before, after) = self.plan, self.load
        lines = [
            f"{plan.keys:,} keys, seed {plan.seed}, {plan.rounds} rounds",
            f"{self.machine}, load {before:.1f} to {after:.1f}",
            f"read_model.stock: {self.table_mb:.0f} MiB, indexes {self.index_mb:.0f} MiB",
            "",
            _COLUMNS,
        ]
        lines += [
            f"{page.name:<28} {page.p50_ms:>8.0f} {page.p95_ms:>8.0f} {page.p99_ms:>8.0f}"
            f" {page.wire_bytes:>8} {page.nodes:>6} {page.rows:>5}"
            for page in self.pages
        ]
        first = self.first_load
        lines += ["", f"first load: {first.requests} requests, {first.wire_bytes:,} bytes"]
        return "\n".join([*lines, *self._fanout_lines()])

    def _fanout_lines(self) -> list[str]:
        if self.streams_failure:
            return [f"event streams FAILED: {self.streams_failure}"]
        if (found := self.fanout) is None:
            return []
        slowest = ", ".join(f"{ms:.0f}" for ms in sorted(found.last_ms))
        return [
            f"{found.streams} event streams on one item, opened in {found.open_s:.1f} s",
            f"change to event: p50 {found.p50_ms:.0f} ms, p99 {found.p99_ms:.0f} ms",
            f"last stream of each of {found.changes} changes: {slowest} ms",
        ]


def run(plan: Plan, server: Server, progress: Progress) -> Report:
    """Fill the database, serve it and measure.

    Raises:
        BenchFailed: the server ended or refused a page. Failed event streams raise nothing: the
            reason is in the report's `streams_failure`.
    """
    made = retailer(plan.keys, plan.seed)
    fill(server.database_url, made, progress)
    password = secrets.token_urlsafe(16)
    _create_person(server, password)
    with _serving(server) as process, Browser(server.web_url) as browser:
        browser.log_in(_PERSON, password)
        first = browser.first_load("/")
        before = os.getloadavg()[0]
        pages = _measured(browser, cases(made), plan.rounds, progress)
        fanout, failure = None, ""
        try:
            fanout = _fanout(server, browser, process, made, plan) if plan.streams else None
        except (BenchFailed, OSError) as problem:
            failure = str(problem)
        after = os.getloadavg()[0]
    table, indexes = _sizes(server.database_url)
    return Report(
        plan=plan,
        machine=machine(),
        load=(before, after),
        table_mb=table,
        index_mb=indexes,
        pages=pages,
        first_load=first,
        fanout=fanout,
        streams_failure=failure,
    )


def _create_person(server: Server, password: str) -> None:
    done = subprocess.run(  # noqa: S603 -- our own module
        [sys.executable, "-m", "bench.web.person", _PERSON],
        env=dict(server.variables),
        input=password,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        problem = f"the person was not created: {done.stderr[-600:]}"
        raise BenchFailed(problem)


@contextmanager
def _serving(server: Server) -> Iterator[Popen[bytes]]:
    """Run the web server within the block. It reads changes from its standard input."""
    log = server.directory / "web.log"
    with log.open("wb") as output:
        process = Popen(
            [sys.executable, "-m", "bench.web.server"],
            env=dict(server.variables),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _await_pages(server.web_url, process, log)
        yield process
    finally:
        stop(process)
        if process.stdin is not None:
            process.stdin.close()


def _await_pages(url: str, process: Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _STARTED_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            answer = httpx.get(f"{url}/login/", timeout=_STARTED_S, trust_env=False)
            if answer.status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(_POLL_S)
    problem = f"the web server doesn't answer: {log_tail(log)}"
    raise BenchFailed(problem)


def _measured(
    browser: Browser, wanted: Sequence[Case], rounds: int, progress: Progress
) -> tuple[Page, ...]:
    """Request each page once a round, every second round in reverse order; return the figures.

    The changing order spreads the effect of a busy minute over several pages. Before the first
    round, each page is requested once without a measurement.
    """
    found: dict[str, list[Answer]] = {case.name: [] for case in wanted}
    for case in wanted:
        browser.page(case.address)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for case in wanted[:: 1 if number % 2 == 0 else -1]:
            found[case.name].append(browser.page(case.address))
    return tuple(_page(name, answers) for name, answers in found.items())


def _page(name: str, answers: Sequence[Answer]) -> Page:
    ordered, last = sorted(answer.ms for answer in answers), answers[-1]
    p50, p95, p99 = (percentile(ordered, share) for share in (500, 950, 990))
    return Page(name, p50, p95, p99, last.wire_bytes, last.nodes, last.rows)


def _fanout(
    server: Server, browser: Browser, process: Popen[bytes], made: Retailer, plan: Plan
) -> Fanout:
    store = max(made.stores, key=lambda one: one.items)
    key = f"{store.code}|{ranged(made, store).code}"
    content = str(made.levels[-1]["state"]).replace(f'"{KEY}"', json.dumps(key))
    state, _ = decode_level(content.encode())
    pipe = process.stdin

    def publish(change: int) -> str:
        units = _FIRST_UNITS + change
        position = Position(state.position.generation, state.position.offset + 1 + change)
        stock = replace(state.stock, on_hand_units=units)
        level = replace(state, inv_key=InvKey(key), position=position, stock=stock)
        line = {CHANGED_KEY: key, LEVEL: encode_level(level, ()).decode()}
        if pipe is not None:
            pipe.write(json.dumps(line).encode() + b"\n")
            pipe.flush()
        return units_text(units)

    live = browser.live_address("/items/" + key.replace("|", "/"))
    sizes = (plan.streams, plan.changes)
    return streams.measure(server.web_url, live, browser.cookies, publish, sizes)


def _sizes(url: str) -> tuple[float, float]:
    """Return the size of `read_model.stock` and of its indexes in MiB."""
    with psycopg.connect(url) as connection:
        [(table, indexes)] = connection.execute(_SIZES).fetchall()
    return table / _MEGABYTE, indexes / _MEGABYTE
