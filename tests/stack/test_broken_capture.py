"""An interrupted capture starts again by itself. It is not mistaken for a complete one.

Uses a stack of its own, with enough rows to interrupt the snapshot halfway.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import KafkaException

from analytics.kafka import end_offsets
from deploy.stack.daemon import wait_down
from deploy.stack.generation import Generation, generation_of
from deploy.stack.runtime import read_runtime
from tests.stack.running import RunningStack, run_inventory, start

pytestmark = pytest.mark.soak

PARTS = "postgres,kafka,connect,migrate,topics,connector"
ROWS = 100_000
BEGUN = 2_000
MANY = """INSERT INTO retail.supplier (code, name)
SELECT 'S' || number, repeat('x', 200) FROM generate_series(1, %s) AS number"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RunningStack]:
    """A database with many rows, and no running service."""
    home = tmp_path / "home"
    try:
        stack = start(home, "--only", "postgres,migrate")
        with psycopg.connect(stack.settings.owner_database_url.get_secret_value()) as connection:
            connection.execute(MANY, (ROWS,))
        stack.cli("down")
        yield stack
    finally:
        run_inventory("down", home=home)


def captured(own: RunningStack) -> int:
    """Return the number of suppliers in the log, 0 if the topic doesn't exist yet."""
    port = read_runtime(own.home).ports.get("kafka")
    try:
        return end_offsets(f"127.0.0.1:{port}", "reference.supplier", 1)[0]
    except KafkaException:
        return 0


def kill_connect(own: RunningStack) -> None:
    """Kill Connect with SIGKILL in the middle of its snapshot."""
    assert own.wait_until(lambda: captured(own) > BEGUN)
    pid = read_runtime(own.home).services["connect"].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert captured(own) < ROWS


def test_an_interrupted_capture_is_refused_and_a_complete_one_accepted(own: RunningStack) -> None:
    own.cli("generation", "--yes")
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(own.cli, "up", "--detach", "--only", PARTS)
        kill_connect(own)
        broken = starting.result()

    assert broken.returncode == 1, broken.stdout
    assert f"but Postgres has {ROWS} rows. The capture was interrupted" in broken.stderr
    assert "inventory generation --yes" in broken.stderr
    assert generation_of(own.home) == Generation(2, captured=False)

    wait_down(own.home)
    assert "was interrupted" in own.cli("up", "--detach", "--only", PARTS).stderr
    own.cli("generation", "--yes")
    start(own.home.path, "--only", PARTS)

    assert generation_of(own.home) == Generation(3, captured=True)
    assert captured(own) == ROWS
