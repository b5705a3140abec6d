"""`inventory bench faults --all`: choice of faults, judgement of a status, clean-up."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.faults import poison
from bench.faults.catalogue import all_faults
from bench.faults.commands import run_command
from bench.faults.fault import SERVICES, mentions
from bench.faults.outcome import Outcome, as_json
from bench.faults.stack_under_test import StackUnderTest
from deploy.cli.bench_all_faults import chosen
from deploy.errors import StackError
from deploy.stack.home import PROJECT
from deploy.stack.processes import ProcessId, alive, identify, wait_until

AT_LEAST = 20
LONG = 10_000
WITHIN_S = 60.0
# A bench that is ended while one child works in its directory, and another has it as an argument.
SCRIPT = """
import subprocess, sys
from deploy.cli import scratch
with scratch.directory(lambda _: None) as place:
    home = place.base / "home"
    home.mkdir()
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    children = [
        subprocess.Popen(sleep, cwd=home, start_new_session=True),
        subprocess.Popen([*sleep, str(home)], start_new_session=True),
    ]
    print(place.base, *(child.pid for child in children), flush=True)
    children[0].wait()
"""


def test_the_catalogue_has_every_service_and_each_name_once() -> None:
    names = [fault.name for fault in all_faults()]

    assert len(names) == len(set(names)) >= AT_LEAST
    for verb in ("kill", "stop", "pause"):
        assert {f"{verb} {service}" for service in (*SERVICES, "supervisor")} - set(names) <= {
            "stop supervisor"
        }
    assert sum(name.startswith("poison: ") for name in names) == 10


def test_every_poison_record_has_its_own_lsn() -> None:
    """Workers skip a record with the identity of another. Without a key, it may go anywhere."""
    texts = b"\n".join(kind.value() for kind in poison.KINDS if len(kind.value()) < LONG)
    positions = re.findall(rb'"lsn": (\d+)', texts)

    assert len(positions) == len(set(positions)) >= 5


def test_faults_are_chosen_by_parts_of_their_names_and_an_unknown_one_is_refused() -> None:
    assert [fault.name for fault in chosen("kill projector, drop")] == [
        "kill projector",
        "drop publication",
        "drop slot",
    ]
    assert len(chosen("")) == len(all_faults())
    with pytest.raises(StackError, match="--only 'flood': expected a part of one of these names"):
        chosen("flood")


def test_a_status_shows_a_fault_only_with_its_name_and_an_exit_code() -> None:
    is_shown = mentions("worker-1")
    row = {"name": "services", "found": "12 of 13 running; not ready: worker-1 (gone)"}

    assert is_shown({"exit_code": 1, "not_well": ["worker-1: gone"]})
    assert is_shown({"exit_code": 1, "problems": [row]})
    assert not is_shown({"exit_code": 0, "problems": [row]})
    assert not is_shown({"exit_code": 1, "not_well": ["web: gone"]})
    assert not is_shown({"exit_code": 1})


def test_a_fault_row_has_the_repairs_and_each_failed_check() -> None:
    held = Outcome("drop slot", 1.26, "slot: gone", 40.2, ["inventory up"], seconds=51.0)
    broken = Outcome("kill web", problems=["verify ended with 1", "leaks ended with 1"])

    assert held.line().split()[:6] == ["drop", "slot", "1.3", "40", "51", "ok"]
    assert held.line().endswith("[slot: gone] (inventory up)")
    assert "FAILED: verify ended with 1; leaks ended with 1 (by itself)" in broken.line()
    report = as_json([held, broken], {"fill disk": "no mount"})
    assert (held.ok, broken.ok, report["ok"]) == (True, False, False)
    assert report["skipped"] == {"fill disk": "no mount"}


def test_a_json_document_is_found_between_other_output_lines() -> None:
    command = [sys.executable, "-c", "print('a line'); print('{\"phase\": 1}'); print('end')"]

    assert run_command(command, os.environ).document() == {"phase": 1}
    assert run_command([sys.executable, "-c", "print()"], os.environ).document() is None


def test_undoing_the_disk_fault_deletes_the_filler_beside_the_home(tmp_path: Path) -> None:
    """A move of the home would move the filler file too."""
    from bench.faults import stores  # noqa: PLC0415 -- beside its only use

    stack = StackUnderTest(tmp_path / "home")
    stack.home.mkdir()
    filler = tmp_path / "filler"
    filler.write_bytes(b"full")

    stores.disk_fault().undo(stack)

    assert not filler.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_bench_that_is_ended_leaves_no_process_and_no_directory(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(  # noqa: S603 -- our own script
        [sys.executable, "-c", SCRIPT],
        cwd=PROJECT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as bench:
        assert bench.stdout is not None
        base, *pids = bench.stdout.readline().split()
        children: list[ProcessId] = [identify(int(pid)) for pid in pids]
        assert all(map(alive, children))

        bench.send_signal(number)
        bench.wait(WITHIN_S)

    assert wait_until(lambda: not any(map(alive, children)), timeout_s=WITHIN_S)
    assert not Path(base).exists()
    assert base not in Path("/proc/self/mounts").read_text(encoding="utf-8")
