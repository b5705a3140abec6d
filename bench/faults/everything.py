"""Check of each fault under load, for `inventory bench faults --all`.

For each fault: within 5 s `status` shows the damage or the damage is repaired. The stack repairs
itself, or the printed commands repair it unchanged. `verify` ends with 0. No log, reply or process
holds a secret.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from bench.faults.fault import Expected, Fault, Status, sound
from bench.faults.ground import Done, Ground, NotReached
from bench.faults.outcome import HEAD, Outcome
from bench.faults.trade import Load, trading

RIGHT_WITHIN_S: Final = 5.0
# Time for the stack to repair itself before the printed commands are run.
SELF_S: Final = 60.0
_REPAIRED_S: Final = 120.0
_REPAIRS_MOST: Final = 4
_POLL_S: Final = 0.5
_CHARS: Final = 300

Tell = Callable[[str], None]


def run(ground: Ground, faults: Sequence[Fault], tell: Tell) -> Iterator[Outcome]:
    """Yield the outcome of each fault; each one begins on a healthy stack."""
    load = Load()
    tell(HEAD)
    for fault in faults:
        began = time.monotonic()
        outcome = _suffer(ground, fault, load)
        outcome.seconds = time.monotonic() - began
        tell(outcome.line())
        yield outcome
    tell(f"{load.committed} transactions committed, {load.refused} refused while parts were away")


def search_everything(ground: Ground) -> Outcome:
    """Search all files and up to 40 pages per person for secrets, once, after all faults."""
    outcome = Outcome("all secrets, everywhere")
    began = time.monotonic()
    _judge(ground.inventory("leaks"), outcome)
    outcome.seconds = time.monotonic() - began
    return outcome


def _suffer(ground: Ground, fault: Fault, load: Load) -> Outcome:
    """Cause one fault, and return its outcome."""
    outcome = Outcome(fault.name)
    try:
        with trading(ground, load):
            expected = fault.prepare(ground)
            fault.cause(ground)
            began = time.monotonic()
            if not _look(ground, expected, outcome, began):
                _heal(ground, fault, expected, outcome)
            outcome.well_s = time.monotonic() - began
        fault.undo(ground)
    except (NotReached, OSError, psycopg.Error, KafkaException) as problem:
        outcome.problems.append(f"{type(problem).__name__}: {problem}"[:_CHARS])
        fault.undo(ground)
    _check(ground, outcome)
    return outcome


def _check(ground: Ground, outcome: Outcome) -> None:
    """Run `verify`, and search processes, logs and replies for secrets."""
    commands = (("verify", "--json"), ("leaks", "--quick"))
    with ThreadPoolExecutor(max_workers=len(commands)) as pool:
        for done in pool.map(lambda command: ground.inventory(*command), commands):
            _judge(done, outcome)


def _judge(done: Done, outcome: Outcome) -> None:
    if done.code:
        outcome.problems.append(f"{done.verb} ended with {done.code}: {_end_of(done)}")


def _look(ground: Ground, expected: Expected, outcome: Outcome, began: float) -> bool:
    """Poll `status` until it is right, for up to 5 s after the fault.

    Return whether the stack was well by then.
    """
    while True:
        seen = ground.status()
        seconds = time.monotonic() - began
        is_well = seen["exit_code"] == 0 and not _is_broken(ground, expected)
        is_right = expected.is_shown(seen) or (is_well and expected.is_broken is not sound)
        if is_right:
            outcome.status_s, outcome.shown = seconds, _shown(seen)
        if seconds > RIGHT_WITHIN_S:
            when = f"only after {seconds:.1f} s" if is_right else f"not within {RIGHT_WITHIN_S:g} s"
            outcome.problems.append(f"status was right {when}: {_shown(seen)}")
        if is_right or seconds > RIGHT_WITHIN_S:
            return is_well and not _failures(ground)


def _shown(status: Status) -> str:
    """Return a summary of what `status` printed, at most 120 characters."""
    if status["exit_code"] == 0:
        return "well"
    sentences = [*status.get("not_well", ())]
    sentences += [f"{row['name']}: {row['found']}" for row in status.get("problems", ())]
    return "; ".join(sentences)[:120] or f"exit code {status['exit_code']}"


def _is_broken(ground: Ground, expected: Expected) -> bool:
    """Return whether the damage is there; a part that doesn't answer is broken."""
    try:
        return expected.is_broken(ground)
    except Exception:  # noqa: BLE001 -- its client may raise any error
        return True


def _heal(ground: Ground, fault: Fault, expected: Expected, outcome: Outcome) -> None:
    """Wait for the stack, then run the printed repairs, up to four, until it is well.

    Raises:
        NotReached: it is not well after the printed repairs.
    """
    if fault.heals and _well_within(ground, expected, SELF_S):
        return
    for _ in range(_REPAIRS_MOST):
        done = _repair(ground, fault, outcome)
        if done is None:
            break
        if _well_within(ground, expected, 0.0 if done.code else _REPAIRED_S):
            return
    if not _well_within(ground, expected, 0.0):
        problem = f"not well after {outcome.repairs}: {_shown(ground.status())}"
        raise NotReached(problem)


def _repair(ground: Ground, fault: Fault, outcome: Outcome) -> Done | None:
    """Run the first printed command unchanged; return None if there is none."""
    printed = fault.repairs_of(ground) if fault.repairs_of else _printed(ground.doctor())
    if not printed:
        outcome.problems.append("no repair is printed")
        return None
    line = printed[0]
    outcome.repairs.append(line)
    done = ground.shell(line)
    if done.code:
        outcome.problems.append(f"exit {done.code} of {line!r}: {_end_of(done)}")
    if "Traceback" in done.text:
        outcome.problems.append(f"a traceback from {line!r}")
    return done


def _printed(rows: list[dict[str, Any]]) -> list[str]:
    """Return the commands of failing rows, or those of warnings if no row fails."""
    failing = [row for row in rows if row["verdict"] == "failure"] or rows
    return [str(row["repair"]) for row in failing if row["repair"]]


def _well_within(ground: Ground, expected: Expected, seconds: float) -> bool:
    """Return whether status, doctor and the direct check find all well within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        if not _is_broken(ground, expected) and ground.status()["exit_code"] == 0:
            return not _failures(ground)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


def _failures(ground: Ground) -> list[dict[str, Any]]:
    return [row for row in ground.doctor() if row["verdict"] == "failure"]


def _end_of(done: Done) -> str:
    return " ".join(done.text.split())[-_CHARS:]
