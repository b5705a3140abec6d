"""`inventory bench faults --all`: cause every known fault, on a stack started for this purpose."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deploy import output
from deploy.cli import scratch
from deploy.errors import StackError
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from bench.faults.fault import Fault
    from bench.faults.outcome import Outcome
    from bench.faults.stack_under_test import StackUnderTest

_SOUND_TRIES = 5
_UP = ("up", "--detach", "--seed-data", "demo")


def run(only: str, *, json: bool) -> bool:
    """Cause the faults that `only` selects, and print the table of results.

    Return True if every check passed.
    """
    from bench.faults.outcome import as_json  # noqa: PLC0415 -- loads clients
    from bench.faults.stack_under_test import StackUnderTest  # noqa: PLC0415 -- as above

    with scratch.directory(output.errors.print) as scratch_disk:
        faults, skipped = _possible(chosen(only), scratch_disk)
        for name, reason in skipped.items():
            output.errors.print(f"{name}: skipped, because {reason}")
        stack = StackUnderTest(scratch_disk.base / "home")
        with _stack(stack):
            outcomes = list(_outcomes(stack, faults))
    good = sum(outcome.ok for outcome in outcomes)
    if json:
        output.as_json(as_json(outcomes, skipped))
    else:
        left_out = f", {len(skipped)} skipped" if skipped else ""
        output.plain(
            f"every check passed in {good} of {counted_text(len(outcomes), 'case')}{left_out}"
        )
    return good == len(outcomes)


def chosen(only: str) -> "tuple[Fault, ...]":
    """Return the faults whose names contain one of the comma-separated texts in `only`.

    Return all faults if `only` is empty.

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


def _possible(
    faults: "tuple[Fault, ...]", scratch_disk: scratch.ScratchDirectory
) -> "tuple[tuple[Fault, ...], dict[str, str]]":
    """Return the faults that this machine allows.

    The second value is a map from the name of each skipped fault to the reason.
    """
    from bench.faults.stores import FILL  # noqa: PLC0415 -- loads clients

    reason = scratch_disk.not_mounted or _no_other_disk(scratch_disk)
    if not reason:
        return faults, {}
    skipped = {fault.name: reason for fault in faults if fault.name == FILL}
    return tuple(fault for fault in faults if fault.name not in skipped), skipped


def _no_other_disk(scratch_disk: scratch.ScratchDirectory) -> str:
    """Return a reason to skip the fault of a full disk, or "".

    That fault needs another disk with room for the home.
    """
    from deploy.stack.home import Home  # noqa: PLC0415 -- beside its only use
    from deploy.stack.room import larger_disk  # noqa: PLC0415 -- as above

    if larger_disk(Home(scratch_disk.base / "home")) is not None:
        return ""
    return "no other disk of this machine has the 5 GB free that a move of the home needs"


def _outcomes(stack: "StackUnderTest", faults: "tuple[Fault, ...]") -> "Iterator[Outcome]":
    """Yield the outcome of each fault. Last, yield the outcome of a search for secrets.

    The search reads files and pages of the stack. If a check fails after a fault and the stack
    still has problems, start a new stack for the next fault.
    """
    from bench.faults import every_fault  # noqa: PLC0415 -- loads clients

    progress = _print
    for outcome in every_fault.run(stack, faults, progress):
        yield outcome
        if not outcome.ok and stack.status()["exit_code"] != 0:
            progress(f"{outcome.fault}: the stack has problems, so a new stack is started")
            stack.inventory("reset", "--yes")
            _start(stack)
    found = every_fault.search_everything(stack)
    progress(found.line())
    yield found


def _print(line: str) -> None:
    output.errors.print(line)


@contextmanager
def _stack(stack: "StackUnderTest") -> "Iterator[None]":
    """Start a stack with the demo's items, and stop it afterwards."""
    try:
        _start(stack)
        yield
    finally:
        scratch.ignore_signals()
        stack.inventory("down")


def _start(stack: "StackUnderTest") -> None:
    """Start the stack, and wait until `verify` succeeds: then all demo data is processed.

    Raises:
        StackError: the stack did not start, or `verify` failed although no fault was caused.
    """
    done = stack.inventory(*_UP)
    if done.code:
        message = f"the stack of the bench did not start: {done.text[-800:]}"
        raise StackError(message, repair="inventory up")
    for _ in range(_SOUND_TRIES):
        done = stack.inventory("verify")
        if done.code == 0:
            return
    message = f"verify ended with exit code {done.code} before any fault: {done.text[-800:]}"
    raise StackError(message, repair="inventory bench faults --all")
