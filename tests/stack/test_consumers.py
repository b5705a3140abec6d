"""Chunk workers and workers of Faust's public stream share partitions in one consumer group."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from deploy.stack.home import PROJECT
from tests.stack.running import DEADLINE_S, RunningStack
from tests.stack.test_workers import held, sell, wait_for_equal_sums

NAME = "worker-of-streams"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def worker_of_streams(stack: RunningStack, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker outside the supervisor that reads the public stream. End it by SIGTERM."""
    variables = {
        "INVENTORY_WORKER_ID": NAME,
        "INVENTORY_WORKER_PORT": str(port),
        "INVENTORY_CONSUMER": "stream",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.worker"],
        env={**os.environ, **stack.environment, **variables},
        cwd=PROJECT,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)


def partitions_at(stack: RunningStack, port: int) -> int:
    """Return the number of ready partitions of that worker, 0 if it doesn't answer."""
    token = stack.settings.query_token.get_secret_value()
    try:
        answer = httpx.get(
            f"http://127.0.0.1:{port}/iq/v1/partitions",
            headers={"Authorization": f"Bearer {token}"},
            params={"scope": "worker"},
            timeout=5,
        )
    except httpx.HTTPError:
        return 0
    return sum(row["state"] == "RUNNING" for row in answer.json()["partitions"])


def test_a_worker_of_the_public_stream_joins_workers_of_chunks_and_leaves_again(
    stack: RunningStack,
) -> None:
    port = free_port()
    others = [name for name in stack.runtime.services if name.startswith("worker-")]

    with worker_of_streams(stack, port) as process:
        stack.wait_until(lambda: partitions_at(stack, port) > 0)
        sell(stack, run="streams-a", lines=1_000)
        wait_for_equal_sums(stack)
        assert process.poll() is None
    sell(stack, run="streams-b", lines=1_000)

    wait_for_equal_sums(stack)
    stack.wait_until(lambda: sum(len(held(stack, name)) for name in others) == 12)
    assert process.returncode == 0
