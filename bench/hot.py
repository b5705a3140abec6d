"""`inventory bench hot`: many checkouts of one item, with and without a row for its stock.

Both sides insert the same sale lines, one per transaction, while the stack captures changes:

* *log*: into `retail.sale_line`. The stack keeps the stock, so a checkout only appends a row.
* *row*: into a copy of that table with the same constraints, indexes and triggers. One more trigger
  updates the stock of the sold item in the same transaction. The copy is not captured.

There are four blocks with one item, in the order log, row, row, log, and then four with many items.
The clients are those of pgbench, a program of Postgres. Each client starts its next transaction as
soon as its last one has ended. After each block, the stock must have fallen by the sold units.
"""

import os
import re
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.errors import BenchFailed
from bench.hot_report import Block, HotReport
from bench.hot_tables import CREATE, DROP, SHOWN_UNITS, STOCK_UNITS, TRIGGERS
from bench.load import percentile
from cdc.settings import Connections

LOG: Final = "log"
ROW: Final = "row"
_TABLES: Final = {LOG: "retail.sale_line", ROW: "bench_hot.sale_line"}
_ORDER: Final = (LOG, ROW, ROW, LOG)
_SHOWN_S: Final = 600.0
_POLL_S: Final = 0.1
_STARTS_S: Final = 30.0
_US_OF_MS: Final = 1000
_RATE: Final = re.compile(r"^tps = ([0-9.]+) \(without", re.MULTILINE)
_SOLD: Final = re.compile(r"^number of transactions actually processed: ([0-9]+)", re.MULTILINE)
_FAILED: Final = re.compile(r"^number of failed transactions: ([0-9]+) ", re.MULTILINE)
# pgbench replaces `:item` by a parameter of the prepared statement.
_SCRIPT: Final = """\
\\set item random(1, {items})
INSERT INTO {table} (source, source_ref, inv_key, location, sku, quantity_units, amount_minor,
    occurred_at)
VALUES ('{location}', gen_random_uuid()::text, '{location}|I' || :item, '{location}',
    'I' || :item, 1, 100, clock_timestamp());
"""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Clients and seconds of each block. Each number of items in `items` gives four blocks."""

    pgbench: Path
    clients: int = 32
    seconds: int = 20
    items: Sequence[int] = (1, 10_000)


def run(plan: Plan, settings: Connections, *, progress: Progress = lambda _text: None) -> HotReport:
    """Measure the running stack. Return the report. The sale lines stay, at locations `BENCH-…`.

    Raises:
        BenchFailed: a transaction failed, or a stock has not fallen by the sold units.
    """
    blocks = []
    with _row_tables(settings):
        for items in plan.items:
            for side in _ORDER:
                progress(f"{side}, {items} items, {plan.clients} clients, {plan.seconds} s")
                blocks.append(_Bench(plan, settings).measure(side, items))
    return HotReport(plan.clients, plan.seconds, tuple(blocks))


@contextmanager
def _row_tables(settings: Connections) -> Iterator[None]:
    """Create the tables of the side *row*, and drop them at the end."""
    url = settings.owner_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(DROP)  # left by a killed run
        try:
            connection.execute(CREATE)
            for (trigger,) in connection.execute(TRIGGERS).fetchall():
                connection.execute(trigger)
            yield
        finally:
            connection.execute(DROP)


class _Bench:
    """The measurement of one block, at a location of its own."""

    def __init__(self, plan: Plan, settings: Connections) -> None:
        self._plan = plan
        self._url = settings.database_url.get_secret_value()
        self._location = f"BENCH-{uuid.uuid4().hex[:8].upper()}"

    def measure(self, side: str, items: int) -> Block:
        """Sell for one block, and compare the stock with the sold units. Return the block."""
        with tempfile.TemporaryDirectory(prefix="inventory-hot-") as scratch:
            printed = self._sell(side, items, Path(scratch))
            ended = time.monotonic()
            failed, rate, count = (each.search(printed) for each in (_FAILED, _RATE, _SOLD))
            if rate is None or count is None or failed is None or int(failed[1]):
                problem = f"{side}: not every transaction succeeded: {printed}"
                raise BenchFailed(problem)
            sold = int(count[1])
            self._compare(side, sold)
            drain_s = time.monotonic() - ended
            times = sorted(_latencies_us(Path(scratch)))
        return Block(
            side=side,
            items=items,
            transactions=sold,
            per_s=float(rate[1]),
            p50_ms=percentile(times, 500) / _US_OF_MS,
            p99_ms=percentile(times, 990) / _US_OF_MS,
            drain_s=drain_s,
        )

    def _sell(self, side: str, items: int, scratch: Path) -> str:
        script = scratch / "checkout.sql"
        sold = {"table": _TABLES[side], "items": items, "location": self._location}
        script.write_text(_SCRIPT.format(**sold), encoding="utf-8")
        plan = self._plan
        command = [str(plan.pgbench), "--no-vacuum", "--protocol", "prepared", "--log"]
        command += ["--client", str(plan.clients), "--time", str(plan.seconds)]
        command += ["--log-prefix", str(scratch / "times"), "--file", str(script)]
        try:
            done = subprocess.run(  # noqa: S603 -- a program of Postgres
                command,
                env=os.environ | _address(self._url),
                capture_output=True,
                text=True,
                check=False,
                timeout=plan.seconds + _STARTS_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = f"{side}: pgbench did not run or did not end: {error}"
            raise BenchFailed(problem) from error
        if done.returncode:
            problem = f"{side}: pgbench ended with {done.returncode}: {done.stderr}"
            raise BenchFailed(problem)
        return done.stdout

    def _compare(self, side: str, sold: int) -> None:
        """Wait until the stock has fallen by the sold units; on the side *row*, check it once."""
        asked = STOCK_UNITS if side == ROW else SHOWN_UNITS
        deadline = time.monotonic() + (0 if side == ROW else _SHOWN_S)
        with psycopg.connect(self._url, autocommit=True) as connection:
            while True:
                row = connection.execute(asked, (self._location,)).fetchone()
                if row is not None and row[0] == -sold:
                    return
                if time.monotonic() >= deadline:
                    problem = f"{side}: {sold} units were sold, but the stock is {row}"
                    raise BenchFailed(problem)
                time.sleep(_POLL_S)


def _address(url: str) -> dict[str, str]:
    """Return a database URL as libpq's variables, so that no password is on a command line."""
    found = conninfo_to_dict(url)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    names |= {"password": "PGPASSWORD", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT"}
    return {names[name]: str(value) for name, value in found.items() if name in names}


def _latencies_us(scratch: Path) -> Iterator[float]:
    """Yield the microseconds of each transaction: the third column of pgbench's log."""
    for log in scratch.glob("times.*"):
        with log.open(encoding="ascii") as lines:
            for line in lines:
                yield float(line.split()[2])
