"""An import while the parts around it are killed: the totals equal those of the file."""

import csv
import json
import os
import random
import shutil
import signal
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest

from cdc.contracts.topics import APP_ID
from deploy.stack import service_commands
from deploy.stack.runtime import ServiceRuntime
from tests.stack.running import RunningStack
from tests.stack.test_elastic import assert_nothing_differs, selling

ROWS = 6_000
ITEMS = 60
HEADER = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
VICTIMS = ("worker-1", "projector", "connect", "worker-2", "kafka")


def write_sales(path: Path, country: str) -> int:
    """Write a file of sales and returns over three weeks. Return the net units sold."""
    chance = random.Random(country)  # noqa: S311 -- reproducible, not secret
    begin = datetime(2024, 3, 1, 8, tzinfo=UTC)
    step = timedelta(days=21) / ROWS
    net = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(HEADER.split(","))
        for number in range(ROWS):
            units = chance.choice((1, 1, 2, 3, 6, 12, -1))
            net += units
            at = begin + step * number
            item = int(ITEMS * chance.random() ** 2)
            price = f"{chance.randint(50, 5000) / 100:.2f}"
            bought = f"SKU{item:03}", "thing", units, f"{at:%Y-%m-%d %H:%M:%S}"
            rows.writerow((number // 8, *bought, price, "", country))
    return net


def kill(stack: RunningStack, name: str) -> None:
    """Kill a service and wait until another process has replaced it."""
    victim = stack.runtime.services[name]
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    stack.wait_until(
        lambda: stack.runtime.services[name].restarts > victim.restarts, describe=lambda: name
    )
    stack.wait_until(lambda: stack.runtime.services[name].pid not in {None, victim.pid})


def lines_written(stack: RunningStack, location: str) -> Callable[[], int]:
    """Return a function that counts the location's sale lines in Postgres."""
    url = stack.settings.read_database_url.get_secret_value()

    def count() -> int:
        with psycopg.connect(url) as connection:
            found = connection.execute(
                "SELECT count(*) FROM retail.sale_line WHERE location = %s", (location,)
            ).fetchone()
        return int(found[0]) if found else 0

    return count


def test_a_sales_import_keeps_its_totals_while_each_process_is_killed_once(
    stack: RunningStack, tmp_path: Path
) -> None:
    location = f"LAND-{uuid.uuid4().hex[:8].upper()}"
    file = tmp_path / "sales.csv"
    net = write_sales(file, location)
    written = lines_written(stack, location)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            stack.cli, "import-sales", str(file), "--stores", "country", "--rate", "400"
        )

        def has_written(share: int) -> bool:
            return written() >= share

        for number, name in enumerate(VICTIMS):
            share = ROWS * (number + 1) // (len(VICTIMS) + 2)
            stack.wait_until(partial(has_written, share))
            kill(stack, name)
        imported = running.result()
    verified = stack.cli("verify", "--location", location, "--json", "--timeout", "600")

    assert imported.returncode == 0, imported.stdout + imported.stderr
    assert verified.returncode == 0, verified.stdout + verified.stderr
    found = json.loads(verified.stdout)
    assert found["keys_differing"] == found["windows_differing"] == 0
    assert found["sale_lines_counted"] == found["sale_lines_committed"] == ROWS
    assert found["units_on_hand_total"] == -net
    assert found["duplicate_reorders"] == found["missing_reorders"] == 0


def damage(directory: Path) -> None:
    """Damage all snapshots of a stopped worker: truncated, changed, or of another partition."""
    files = sorted(directory.glob("*.snapshot"))
    assert len(files) >= 3, files
    contents = [file.read_bytes() for file in files]
    for number, file in enumerate(files):
        content = contents[number]
        half = len(content) // 2
        spoiled = (
            content[:-1],
            content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
            contents[number - 1],
        )
        file.write_bytes(spoiled[number % 3])


@pytest.mark.soak  # tests/simulation damages and deletes snapshots
def test_lost_or_damaged_snapshots_change_no_result(stack: RunningStack) -> None:
    workers = stack.home.path / "workers" / APP_ID
    log = stack.home.log_of("worker-1")

    with selling(stack) as runs:
        service_commands.pause(stack.home)
        damage(workers / "worker-1" / "snapshots")
        shutil.rmtree(workers / "worker-2")
        (workers / "worker-2").mkdir()
        (workers / "worker-2" / "snapshots").touch()  # a disk that takes no snapshot
        said = log.stat().st_size
        service_commands.resume(stack.home)
        sold = len(runs)
        stack.wait_until(lambda: len(runs) > sold + 5)
    discarded = log.read_bytes()[said:].count(b'"snapshot discarded"')
    assert_nothing_differs(stack)

    assert discarded >= 3
    (workers / "worker-2" / "snapshots").unlink()


@pytest.mark.soak  # the test above kills each part
def test_workers_sinks_and_postgres_agree_after_they_are_killed(stack: RunningStack) -> None:
    victims = ("worker-1", "worker-2", "projector", "actuator")

    with selling(stack) as runs:
        stack.wait_until(lambda: len(runs) > 5)
        killed = {name: stack.runtime.services[name] for name in victims}
        for victim in killed.values():
            assert victim.pid is not None
            os.kill(victim.pid, signal.SIGKILL)

    def has_restarted(name: str, victim: ServiceRuntime) -> bool:
        return stack.runtime.services[name].restarts > victim.restarts

    for name, victim in killed.items():
        stack.wait_until(partial(has_restarted, name, victim))
    kill(stack, "postgres")
    stack.wait_until(lambda: stack.runtime.services["postgres"].state == "running")

    assert_nothing_differs(stack)
