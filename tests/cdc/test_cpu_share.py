"""A process lowers its share of busy cores, and that of the session that it leads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = Path("/proc/self/autogroup")
SHOWN = "import os; print(os.nice(0), open('/proc/self/autogroup').read().split()[-1])"
LOWERED = f"from cdc.cpu_share import lower_share; lower_share(7); {SHOWN}"

pytestmark = pytest.mark.skipif(not SESSION.exists(), reason="the kernel has no groups of sessions")


def printed(*command: str) -> str:
    return subprocess.run(  # noqa: S603 -- our own interpreter
        command, check=True, capture_output=True, text=True, start_new_session=True
    ).stdout.strip()


def test_the_leader_of_a_session_lowers_the_share_of_the_session() -> None:
    assert printed(sys.executable, "-c", LOWERED) == f"{os.nice(0) + 7} 7"


def test_another_process_of_a_session_lowers_only_its_own_share() -> None:
    in_shell = f'{sys.executable} -c "{LOWERED}"; true'

    assert printed("sh", "-c", in_shell) == f"{os.nice(0) + 7} 0"
