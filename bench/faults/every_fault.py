"""Check of each fault under load, for `inventory bench faults --all`.

After each fault, the stack must meet four requirements:

- Within 5 s, `inventory status` shows the damage, or the damage is repaired.
- The stack repairs itself, or the commands that it prints repair it. The bench runs them unchanged.
- `inventory verify` ends with exit code 0.
- No log, HTTP answer or process holds a secret.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from bench.faults.commands import FinishedCommand
from bench.faults.fault import Expected, Fault, Status, never_broken
from bench.faults.outcome import HEAD, Outcome
from bench.faults.stack_under_test import ConditionTimeout, StackUnderTest
from bench.faults.trade import Load, trading

SHOWN_WITHIN_S: Final = 5.0
# Time limit for the stack's own repair. Afterwards the bench runs the repair commands that the
# stack prints.
SELF_REPAIR_S: Final = 60.0
_REPAIRED_S: Final = 120.0
_REPAIRS_MOST: Final = 4
_POLL_S: Final = 0.5
_CHARS: Final = 300

Progress = Callable[[str], None]


def run(stack: StackUnderTest, faults: Sequence[Fault], progress: Progress) -> Iterator[Outcome]:
    """Cause each fault and yield its outcome. The stack must be healthy before each fault."""
    load = Load()
    progress(HEAD)
    for fault in faults:
        began = time.monotonic()
        outcome = _cause_and_check(stack, fault, load)
        outcome.seconds = time.monotonic() - began
        progress(outcome.line())
        yield outcome
    progress(
        f"{load.committed} transactions committed, {load.refused} refused while services were down"
    )


def search_everything(stack: StackUnderTest) -> Outcome:
    """Search all files and up to 40 pages per person for secrets; return the outcome.

    Call this once, after all faults.
    """
    outcome = Outcome("all secrets, everywhere")
    began = time.monotonic()
    _note_failure(stack.inventory("leaks"), outcome)
    outcome.seconds = time.monotonic() - began
    return outcome


def _cause_and_check(stack: StackUnderTest, fault: Fault, load: Load) -> Outcome:
    """Cause one fault, and return its outcome."""
    outcome = Outcome(fault.name)
    try:
        with trading(stack, load):
            expected = fault.prepare(stack)
            fault.cause(stack)
            began = time.monotonic()
            if not _wait_until_shown(stack, expected, outcome, began):
                _wait_until_repaired(stack, fault, expected, outcome)
            outcome.well_s = time.monotonic() - began
        fault.undo(stack)
    except (ConditionTimeout, OSError, psycopg.Error, KafkaException) as problem:
        outcome.problems.append(f"{type(problem).__name__}: {problem}"[:_CHARS])
        fault.undo(stack)
    _check(stack, outcome)
    return outcome


def _check(stack: StackUnderTest, outcome: Outcome) -> None:
    """Run `verify`, and search processes, logs and HTTP answers for secrets.

    Add each failure to `outcome.problems`.
    """
    commands = (("verify", "--json"), ("leaks", "--quick"))
    with ThreadPoolExecutor(max_workers=len(commands)) as pool:
        for done in pool.map(lambda command: stack.inventory(*command), commands):
            _note_failure(done, outcome)


def _note_failure(done: FinishedCommand, outcome: Outcome) -> None:
    if done.code:
        outcome.problems.append(f"{done.verb} ended with {done.code}: {_end_of(done)}")


def _wait_until_shown(
    stack: StackUnderTest, expected: Expected, outcome: Outcome, began: float
) -> bool:
    """Poll `status` for up to 5 s, until it shows the damage or the damage is repaired.

    `began` is the monotonic time of the fault. Return True if the stack has no problem when the
    polling ends.
    """
    before = ""
    while True:
        seen = stack.status()
        seconds = time.monotonic() - began
        is_repaired = expected.is_broken is not never_broken and not _is_broken(stack, expected)
        is_well = seen["exit_code"] == 0 and (is_repaired or expected.is_broken is never_broken)
        # After a repair any answer is right: `status` may still show consequences of the fault.
        is_right = expected.is_shown(seen) or is_repaired
        if is_right:
            outcome.status_s, outcome.shown = seconds, _shown(seen)
        if seconds > SHOWN_WITHIN_S:
            late = f"right only after {seconds:.1f} s"
            wrong = f"not right within {SHOWN_WITHIN_S:g} s"
            when = late if is_right else wrong
            outcome.problems.append(f"status was {when}: {_shown(seen)}{before}")
        if is_right or seconds > SHOWN_WITHIN_S:
            return is_well and not _failures(stack)
        before = f"; {seconds:.1f} s after the fault: {_shown(seen)}"


def _shown(status: Status) -> str:
    """Return a summary of what `status` printed, at most 120 characters."""
    if status["exit_code"] == 0:
        return "well"
    sentences = [*status.get("not_well", ())]
    sentences += [f"{row['name']}: {row['found']}" for row in status.get("problems", ())]
    return "; ".join(sentences)[:120] or f"exit code {status['exit_code']}"


def _is_broken(stack: StackUnderTest, expected: Expected) -> bool:
    """Return True if the damage exists, or if the check raises an error because a part is down."""
    try:
        return expected.is_broken(stack)
    except Exception:  # noqa: BLE001 -- its client may raise any error
        return True


def _wait_until_repaired(
    stack: StackUnderTest, fault: Fault, expected: Expected, outcome: Outcome
) -> None:
    """Wait until the stack has no problem. If needed, run up to four repairs that it prints.

    Raises:
        ConditionTimeout: the stack still has a problem after these repairs.
    """
    if fault.heals and _well_within(stack, expected, SELF_REPAIR_S):
        return
    for _ in range(_REPAIRS_MOST):
        done = _repair(stack, fault, outcome)
        if done is None:
            break
        if _well_within(stack, expected, 0.0 if done.code else _REPAIRED_S):
            return
    if not _well_within(stack, expected, 0.0):
        problem = f"not healthy after {outcome.repairs}: {_shown(stack.status())}"
        raise ConditionTimeout(problem)


def _repair(stack: StackUnderTest, fault: Fault, outcome: Outcome) -> FinishedCommand | None:
    """Run the first repair command that the stack printed, unchanged, and return its result.

    Return None if the stack printed no repair.
    """
    printed = fault.repairs_of(stack) if fault.repairs_of else _printed(stack.doctor())
    if not printed:
        outcome.problems.append("no command printed a repair")
        return None
    line = printed[0]
    outcome.repairs.append(line)
    done = stack.shell(line)
    if done.code:
        outcome.problems.append(f"{line!r} ended with {done.code}: {_end_of(done)}")
    if "Traceback" in done.text:
        outcome.problems.append(f"{line!r} printed a traceback")
    return done


def _printed(rows: list[dict[str, Any]]) -> list[str]:
    """Return the repairs of failing rows of `doctor`, or of all `rows` if none fails."""
    failing = [row for row in rows if row["verdict"] == "failure"] or rows
    return [str(row["repair"]) for row in failing if row["repair"]]


def _well_within(stack: StackUnderTest, expected: Expected, seconds: float) -> bool:
    """Wait up to `seconds` until the damage is gone and `status` ends with exit code 0.

    Return True if `doctor` then finds no failure. Return False after the time limit.
    """
    deadline = time.monotonic() + seconds
    while True:
        if not _is_broken(stack, expected) and stack.status()["exit_code"] == 0:
            return not _failures(stack)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


def _failures(stack: StackUnderTest) -> list[dict[str, Any]]:
    return [row for row in stack.doctor() if row["verdict"] == "failure"]


def _end_of(done: FinishedCommand) -> str:
    return " ".join(done.text.split())[-_CHARS:]
