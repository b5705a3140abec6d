"""Logs stay below their size limit while they grow. Every line of the project is JSON."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.stack.context import Context, Options
from deploy.stack.home import PROJECT, Home
from deploy.stack.rotation import rotate
from deploy.stack.services import application


def test_a_log_that_grew_is_emptied_under_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    with path.open("ab", buffering=0) as writer:  # opened as for a child process
        writer.write(b"old\n" * 300)
        was_small = rotate(path, limit=2_000)
        was_large = rotate(path, limit=1_000)
        writer.write(b"new\n")

    assert (was_small, was_large) == (False, True)
    assert path.read_bytes() == b"new\n"
    assert path.with_suffix(".log.1").read_bytes() == b"old\n" * 300


def test_rotate_on_a_full_disk_empties_only_logs_above_twice_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "web.log"
    path.write_bytes(b"old\n" * 300)
    monkeypatch.setattr(shutil, "copyfileobj", full)

    with pytest.raises(OSError, match="No space"):
        rotate(path, limit=1_000)
    kept = path.stat().st_size
    emptied = rotate(path, limit=500)

    assert (kept, emptied, path.stat().st_size) == (1_200, True, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["web.log"]


PROGRAM = """
import logging, threading, warnings
import structlog
from cdc.logs import configure_logging
configure_logging(service="web")
structlog.get_logger().info("began", places=3)
logging.getLogger("uvicorn.error").error("of a library")
warnings.warn("old call")
def fail():
    secret = "canary-" + "4711"
    raise ValueError("as planned")
thread = threading.Thread(target=fail); thread.start(); thread.join()
try:
    fail()
except ValueError:
    logging.getLogger("django.request").exception("page failed")
fail()
"""


def test_events_warnings_and_exceptions_are_logged_as_json_without_locals() -> None:
    environment = os.environ | {"INVENTORY_LOG_LEVEL": "INFO"}
    ended = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", PROGRAM],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert ended.returncode == 1
    assert "canary-4711" not in ended.stderr
    assert {line["service"] for line in lines} == {"web"}
    assert [line["event"].splitlines()[0][:18] for line in lines] == [
        *("began", "of a library", lines[2]["event"][:18]),
        *("uncaught exception", "page failed", "uncaught exception"),
    ]
    assert "old call" in lines[2]["event"]
    assert lines[-1]["exception"][0]["exc_value"] == "as planned"


def test_the_demo_trading_process_logs_like_every_service(tmp_path: Path) -> None:
    """Started without a database, the process ends with an error, which is its only log line."""
    home = Home(tmp_path / "home")
    home.create()
    ports = dict.fromkeys(("postgres", "kafka", "connect", "web"), 1)
    service = application.trading(Context(home, Options(), ports, home.secrets()))

    ended = subprocess.run(  # noqa: S603 -- our own program
        service.command, env=service.environment, cwd=PROJECT, capture_output=True, check=False
    )

    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert ended.returncode == 1
    assert {line["service"] for line in lines} == {"trading"}
    assert "connection failed" in lines[-1]["exception"][0]["exc_value"]
