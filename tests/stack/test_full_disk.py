"""A first start on a disk without enough room prints a command that starts it on another disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.stack import room
from deploy.stack.home import Home
from tests.small_disk import mounted
from tests.stack.repairing import run_as_printed
from tests.stack.running import RunningStack, run_inventory

pytestmark = pytest.mark.soak

MEGABYTES = 24  # a Postgres cluster needs 40 MB


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with mounted(tmp_path / "small", MEGABYTES) as where:
        found = Home(where / "home")
        if room.larger_disk(found) is None:
            pytest.skip("no other disk of this machine has 5 GB free")
        try:
            yield found
        finally:
            run_inventory("reset", "--yes", home=found.path)


def test_the_command_that_the_failed_start_prints_starts_the_stack_on_another_disk(
    home: Home,
) -> None:
    failed = run_inventory("up", "--detach", "--only", "postgres", home=home.path)
    repair = failed.stderr.rpartition("repair: ")[2].strip()
    told = run_inventory("doctor", home=home.path).stdout
    done = run_as_printed(RunningStack(home, {}), repair)
    well = run_inventory("status", home=home.path)

    assert failed.returncode == 1
    assert "No space left on device" in failed.stderr
    assert repair.startswith("inventory down && inventory move /"), failed.stderr
    assert repair in told
    assert done.returncode == 0, done.stdout + done.stderr
    assert well.returncode == 0, well.stdout
    assert home.path.is_symlink()
