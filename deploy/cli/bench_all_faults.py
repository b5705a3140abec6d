"""`inventory bench faults --all`: every fault there is, on a stack that it starts itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deploy import output
from deploy.cli import scratch
from deploy.errors import StackError

if TYPE_CHECKING:
    from bench.faults.fault import Fault
    from bench.faults.ground import Ground
    from bench.faults.outcome import Outcome

_SOUND_TRIES = 5
_UP = ("up", "--detach", "--seed-data", "demo")


def run(only: str, *, json: bool) -> bool:
    """Run the chosen faults and print the table; return whether every promise held."""
    from bench.faults.ground import Ground  # noqa: PLC0415 -- loads clients
    from bench.faults.outcome import as_json  # noqa: PLC0415 -- as above

    with scratch.directory(output.errors.print) as place:
        faults, skipped = _possible(chosen(only), place)
        for name, reason in skipped.items():
            output.errors.print(f"{name}: skipped, because {reason}", markup=False)
        ground = Ground(place.base / "home")
        with _stack(ground):
            outcomes = list(_outcomes(ground, faults))
    good = sum(outcome.ok for outcome in outcomes)
    if json:
        output.as_json(as_json(outcomes, skipped))
    else:
        left_out = f", {len(skipped)} skipped" if skipped else ""
        output.plain(f"{good} of {len(outcomes)} rows: every promise held{left_out}")
    return good == len(outcomes)


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


def _possible(
    faults: "tuple[Fault, ...]", place: scratch.Place
) -> "tuple[tuple[Fault, ...], dict[str, str]]":
    """Return the faults that can be caused here, and the reasons of the others by name."""
    from bench.faults.stores import FILL  # noqa: PLC0415 -- loads clients

    reason = place.not_mounted or _no_other_disk(place)
    if not reason:
        return faults, {}
    skipped = {fault.name: reason for fault in faults if fault.name == FILL}
    return tuple(fault for fault in faults if fault.name not in skipped), skipped


def _no_other_disk(place: scratch.Place) -> str:
    """Return why the printed repair of a full disk could name no directory, empty if it can."""
    from deploy.doctor.disk import roomier  # noqa: PLC0415 -- beside its only use
    from deploy.stack.home import Home  # noqa: PLC0415 -- as above

    if roomier(Home(place.base / "home")) is not None:
        return ""
    return "no other disk of this machine has 5 GB free, to which the home could be moved"


def _outcomes(ground: "Ground", faults: "tuple[Fault, ...]") -> "Iterator[Outcome]":
    """Yield the rows; a stack that isn't well after a fault is replaced by a new one."""
    from bench.faults import everything  # noqa: PLC0415 -- loads clients

    say = _say
    for outcome in everything.run(ground, faults, say):
        yield outcome
        if not outcome.ok and ground.status()["exit_code"] != 0:
            say(f"{outcome.fault}: the stack is not well; the next fault gets a new one")
            ground.inventory("reset", "--yes")
            _start(ground)
    found = everything.search_everything(ground)
    say(found.line())
    yield found


def _say(line: str) -> None:
    output.errors.print(line, markup=False, soft_wrap=True)


@contextmanager
def _stack(ground: "Ground") -> "Iterator[None]":
    """Start a stack with the demo's items, and stop it afterwards."""
    try:
        _start(ground)
        yield
    finally:
        scratch.ignore_signals()
        ground.inventory("down")


def _start(ground: "Ground") -> None:
    """Start the stack and wait until it has processed what was written at its start.

    Raises:
        StackError: it did not start, or `verify` doesn't end with 0 without any fault.
    """
    done = ground.inventory(*_UP)
    if done.code:
        message = f"the stack of the bench did not start: {done.text[-800:]}"
        raise StackError(message, repair="inventory up")
    for _ in range(_SOUND_TRIES):
        done = ground.inventory("verify")
        if done.code == 0:
            return
    message = f"verify ended with {done.code} before any fault: {done.text[-800:]}"
    raise StackError(message, repair="inventory bench faults --all")
