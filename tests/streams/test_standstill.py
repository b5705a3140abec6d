"""A thread ends the worker's process if the event loop is blocked."""

import subprocess
import sys
import threading

from streams.exit_codes import ExitCode
from streams.worker.loop_watchdog import CHECKS, watch

BLOCKED = """
import asyncio, threading, time
from streams.worker.runtime import Stuck, die
from streams.worker.loop_watchdog import watch

async def block():
    watch(lambda: 1.0, 0.2, lambda: die("the event loop stands still", Stuck("for a test")))
    threading.Event().wait(600)

asyncio.run(block())
"""


def test_a_blocked_event_loop_ends_the_process_with_the_stuck_exit_code() -> None:
    ended = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=300, check=False
    )

    assert ended.returncode == ExitCode.STUCK, ended.stderr
    assert "the event loop stands still" in ended.stdout + ended.stderr


def test_a_running_event_loop_is_not_ended_and_short_blocks_are_not_summed() -> None:
    seen = iter([*[1.0] * CHECKS, *[2.0] * CHECKS, *[3.0] * (CHECKS + 5)])
    looked: list[float] = []
    ended = threading.Event()

    def look() -> float:
        looked.append(next(seen))
        return looked[-1]

    watch(look, 0.001, ended.set)

    assert ended.wait(120)
    assert looked == [*[1.0] * CHECKS, *[2.0] * CHECKS, *[3.0] * (CHECKS + 1)]
