"""`inventory bench faults --all`: every fault there is, on a stack that it starts itself."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deploy import output
from deploy.errors import StackError

if TYPE_CHECKING:
    from bench.faults.catalogue import Fault
    from bench.faults.ground import Ground

FILL: Final = "fill disk"
_DISK: Final = "size=6g,mode=0711"


def run(only: str, *, json: bool) -> bool:
    """Run the chosen faults and print the table; return whether every promise held."""
    from bench.faults import everything  # noqa: PLC0415 -- loads clients
    from bench.faults.ground import Ground  # noqa: PLC0415 -- as above

    faults = chosen(only)
    with _directory() as (base, is_small_disk):
        if not is_small_disk and any(fault.name == FILL for fault in faults):
            output.errors.print(f"{FILL}: skipped, because only root can mount a small disk for it")
            faults = tuple(fault for fault in faults if fault.name != FILL)
        with _stack(Ground(base / "home")) as ground:
            outcomes = everything.run(ground, faults, output.errors.print)
    if json:
        output.as_json(everything.as_json(outcomes))
    else:
        good = sum(outcome.ok for outcome in outcomes)
        output.plain(f"{good} of {len(outcomes)} faults: every promise held")
    return all(outcome.ok for outcome in outcomes)


def chosen(only: str) -> "tuple[Fault, ...]":
    """Return the faults whose names hold one of the comma-separated texts of `only`.

    Raises:
        StackError: no fault has such a name.
    """
    from bench.faults.catalogue import all_faults  # noqa: PLC0415 -- loads clients

    texts = [text.strip() for text in only.split(",") if text.strip()]
    found = [f for f in all_faults() if not texts or any(text in f.name for text in texts)]
    if not found:
        names = ", ".join(fault.name for fault in all_faults())
        message = f"--only {only!r}: expected a part of one of these names: {names}"
        raise StackError(message)
    return tuple(found)


@contextmanager
def _directory() -> Iterator[tuple[Path, bool]]:
    """Make a directory, on a small disk of its own if this account may mount one."""
    base = Path(tempfile.mkdtemp(prefix="inventory-faults-"))
    base.chmod(0o711)
    is_mounted = os.geteuid() == 0 and _command("mount", "-t", "tmpfs", "-o", _DISK, "none", base)
    try:
        yield base, is_mounted
    finally:
        if is_mounted:
            _command("umount", base)
        shutil.rmtree(base, ignore_errors=True)


def _command(*parts: str | Path) -> bool:
    found = shutil.which(str(parts[0]))
    if found is None:
        return False
    done = subprocess.run(  # noqa: S603 -- mount and umount of a directory that we made
        [found, *map(str, parts[1:])], capture_output=True, check=False
    )
    return done.returncode == 0


@contextmanager
def _stack(ground: "Ground") -> Iterator["Ground"]:
    """Start a stack with the demo's items, and delete it afterwards.

    Raises:
        StackError: it did not start; nothing is left of it.
    """
    try:
        done = ground.inventory("up", "--detach", "--seed-data", "demo")
        if done.code:
            message = f"the stack of the bench did not start: {done.text[-800:]}"
            raise StackError(message, repair="inventory up")
        yield ground
    finally:
        ground.inventory("down")
        target = ground.home.resolve()
        ground.inventory("reset", "--yes")
        if ground.home.is_symlink() and target.name.startswith("retail-inventory-"):
            shutil.rmtree(target, ignore_errors=True)
