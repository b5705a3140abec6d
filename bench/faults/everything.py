"""`inventory bench faults --all`: cause each fault under load, and look what the stack makes of it.

For each fault: `status` agrees with the truth within five seconds, the stack repairs itself or the
printed commands repair it as printed, and `verify` ends with 0. No secret may show up in any log or
output.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from bench.faults.catalogue import Fault
from bench.faults.ground import Done, Ground, NotReached

RIGHT_WITHIN_S: Final = 5.0
# How long the stack has to repair itself before the printed commands are tried.
SELF_S: Final = 45.0
_HEALTHY_S: Final = 300.0
_REPAIRS_MOST: Final = 4
_EVERY_S: Final = 0.1
_POLL_S: Final = 0.5
_SELL: Final = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
SELECT 'FAULTS|F' || n, 'FAULTS', 'F' || n, 'faults', %s || '-' || n, 1, 250, clock_timestamp()
FROM generate_series(1, 10) AS n
"""

Tell = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """What one fault did: every problem is a sentence, and none is a success."""

    fault: str
    status_s: float | None = None
    healed_s: float | None = None
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Return whether everything that was promised held."""
        return not self.problems

    def line(self) -> str:
        """Return one row of the table."""
        told = "-" if self.status_s is None else f"{self.status_s:.1f}"
        healed = "-" if self.healed_s is None else f"{self.healed_s:.0f}"
        how = " ; ".join(self.repairs) or "by itself"
        end = "ok" if self.ok else "; ".join(self.problems)
        return f"{self.fault:<34} {told:>8} {healed:>9}  {end}  ({how})"


@dataclass(slots=True)
class Load:
    """Ten sale lines in one transaction, ten times a second, as long as Postgres takes them."""

    committed: int = 0
    refused: int = 0


@contextmanager
def trading(ground: Ground) -> Iterator[Load]:
    """Sell until the block ends."""
    load, stopped = Load(), threading.Event()

    def trade() -> None:
        while not stopped.wait(_EVERY_S):
            try:
                ground.sql(_SELL, uuid.uuid4().hex, role="app_rw")
            except (psycopg.Error, OSError, ValueError, KeyError):
                load.refused += 1  # the next one is another sale
            else:
                load.committed += 1

    thread = threading.Thread(target=trade, daemon=True)
    thread.start()
    try:
        yield load
    finally:
        stopped.set()
        thread.join()


def suffer(ground: Ground, fault: Fault) -> Outcome:
    """Cause one fault, and return what came of it."""
    outcome = Outcome(fault.name)
    try:
        with trading(ground):
            truth = fault.prepare(ground) if fault.prepare else None
            fault.cause(ground)
            began = time.monotonic()
            if truth is not None:
                _look(ground, truth, outcome)
            _heal(ground, truth or (lambda _ground: False), outcome, began)
        fault.undo(ground)
        _verify(ground, outcome)
    except (NotReached, OSError, psycopg.Error) as problem:
        outcome.problems.append(f"{type(problem).__name__}: {problem}"[:300])
    _search_secrets(ground, outcome)
    return outcome


def _search_secrets(ground: Ground, outcome: Outcome) -> None:
    """No log, output, page or process may hold a secret that isn't its own."""
    done = ground.inventory("leaks")
    if done.code:
        outcome.problems.append(f"leaks ended with {done.code}: {_end_of(done)}")


def _look(ground: Ground, truth: Callable[[Ground], bool], outcome: Outcome) -> None:
    """`status` may not call a broken stack well; asked until five seconds after the fault."""
    began = time.monotonic()
    while True:
        said = ground.status()
        seconds = time.monotonic() - began
        is_right = said["exit_code"] != 0 or not _is_broken(ground, truth)
        if is_right:
            outcome.status_s = seconds
            return
        if seconds > RIGHT_WITHIN_S:
            outcome.problems.append(f"status said well for {seconds:.1f} s")
            return


def _is_broken(ground: Ground, truth: Callable[[Ground], bool]) -> bool:
    """A part that can't be asked is broken."""
    try:
        return truth(ground)
    except Exception:  # noqa: BLE001 -- whatever its client raises
        return True


def _heal(ground: Ground, truth: Callable[[Ground], bool], outcome: Outcome, began: float) -> None:
    """Wait for the stack, then run what it prints, until nothing is left to repair.

    Raises:
        NotReached: it is not well after the printed repairs.
    """
    if not _well_within(ground, truth, SELF_S):
        for _ in range(_REPAIRS_MOST):
            if not _repair(ground, outcome) or _well_within(ground, truth, _HEALTHY_S):
                break
    if not _well_within(ground, truth, _POLL_S):
        rows = ground.doctor()
        problem = f"not healthy after {outcome.repairs}: {rows}"
        raise NotReached(problem)
    outcome.healed_s = time.monotonic() - began


def _repair(ground: Ground, outcome: Outcome) -> bool:
    """Run the first failing row's command as printed; return whether there was one."""
    rows = ground.doctor()
    failing = [row for row in rows if row["verdict"] == "failure"] or rows
    line = next((row["repair"] for row in failing if row["repair"]), "")
    if not line:
        outcome.problems.append(f"no repair is printed: {rows}"[:300])
        return False
    outcome.repairs.append(line)
    done = ground.shell(line)
    if done.code:
        outcome.problems.append(f"exit {done.code} of {line!r}: {_end_of(done)}")
    if "Traceback" in done.text:
        outcome.problems.append(f"a traceback from {line!r}")
    return True


def _well_within(ground: Ground, truth: Callable[[Ground], bool], seconds: float) -> bool:
    """Return whether status, doctor and the truth agree within `seconds` that all is well."""
    deadline = time.monotonic() + seconds
    while True:
        if ground.status()["exit_code"] == 0 and not _is_broken(ground, truth):
            failures = [row for row in ground.doctor() if row["verdict"] == "failure"]
            if not failures:
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


def _verify(ground: Ground, outcome: Outcome) -> None:
    done = ground.inventory("verify", "--json")
    if done.code:
        outcome.problems.append(f"verify ended with {done.code}: {_end_of(done)}")


def _end_of(done: Done) -> str:
    return " ".join(done.text.split())[-300:]


def run(ground: Ground, faults: Sequence[Fault], tell: Tell) -> list[Outcome]:
    """Cause the faults one after another; each begins on a stack that is well."""
    tell(f"{'fault':<34} {'status s':>8} {'healed s':>9}  result")
    outcomes = []
    for fault in faults:
        outcome = suffer(ground, fault)
        tell(outcome.line())
        outcomes.append(outcome)
    return outcomes


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the report for programs."""
    return {
        "ok": all(outcome.ok for outcome in outcomes),
        "faults": [
            {
                "fault": outcome.fault,
                "ok": outcome.ok,
                "status_s": outcome.status_s,
                "healed_s": outcome.healed_s,
                "repairs": outcome.repairs,
                "problems": outcome.problems,
            }
            for outcome in outcomes
        ],
    }
