"""`inventory bench verify`: repeated comparisons of a trading stack, some with a wrong row.

On correct data `verify` must never end with exit code 1. With a wrong row it must end with 1 and
name only the key of that row. A round is undecided if `verify` ended with 2. It is also undecided
if in three tries the stack replaced the wrong row before the comparison.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from analytics.verify import BehindReport, VerifyReport, verify
from bench.verification.planted_errors import planted
from bench.verification.report import LONGEST_SHOWN, SOUND, Plan, Report, Round
from bench.verification.rows import Planted
from bench.verification.shop import NEEDED, PlantFailed, Shop
from bench.verification.states import Target
from cdc.settings import Connections

_TRIES: Final = 3
_POLL_S: Final = 0.5
_PROPOSED: Final = (
    "SELECT count(DISTINCT inv_key) FROM app.reorder_proposal WHERE inv_key = ANY(%s)"
)

Progress = Callable[[str], None]


def run(
    settings: Connections, owner: Callable[[int], int | None], plan: Plan, progress: Progress
) -> Report:
    """Trade and run `verify` repeatedly, then once more without trade. Return the report."""
    shop = Shop(settings.database_url.get_secret_value(), plan.load, plan.seed)
    target = Target(settings, shop, owner, plan.timeout_s)
    shop.open()
    report = Report(plan)
    began = time.monotonic()
    try:
        _wait_proposed(target)
        with shop.trading():
            _rounds(target, report, progress)
    except PlantFailed as problem:
        report.problem = str(problem)
    report.lines, report.seconds = shop.lines, time.monotonic() - began
    report.at_rest = verify(timeout=plan.timeout_s, settings=settings).exit_code
    return report


def _rounds(target: Target, report: Report, progress: Progress) -> None:
    for number in range(report.plan.rounds):
        one = _round(target, report.plan.kind_of(number), number)
        report.rounds.append(one)
        progress(f"{number + 1} of {report.plan.rounds}: {one.as_text()}")
        target.shop.check()


def _round(target: Target, kind: str, number: int) -> Round:
    """Compare, and return the last result.

    If the stack replaced the wrong row before `verify` read it, repeat up to twice.
    """
    one = _compared(target, kind, number, 0)
    while one.is_repaired and one.repaired + 1 < _TRIES:
        one = _compared(target, kind, number, one.repaired + 1)
    return one


def _compared(target: Target, kind: str, number: int, repaired: int) -> Round:
    sound = nullcontext(Planted("", lambda: False))
    wrong = sound if kind == SOUND else planted(kind, number, target)
    with wrong as row:
        started = time.monotonic()
        answer = verify(timeout=target.timeout_s, settings=target.settings)
        seconds = time.monotonic() - started
        is_there = row.is_there()
    return Round(
        kind=kind,
        exit_code=answer.exit_code,
        seconds=seconds,
        in_flight=answer.as_json().get("rows_in_flight", 0),
        what=row.what,
        is_there=is_there,
        named=_named(answer),
        repaired=repaired,
        behind=str(answer.behind)[:LONGEST_SHOWN] if isinstance(answer, BehindReport) else "",
    )


def _named(answer: VerifyReport | BehindReport) -> frozenset[str]:
    """Return the key of each reported problem, or the need's id if the problem has no key.

    A problem is a different level or window, or a missing or duplicate need or proposal.
    """
    if isinstance(answer, BehindReport):
        return frozenset()
    found = [*answer.keys, *answer.windows, *answer.reorders.missing, *answer.reorders.duplicates]
    return frozenset(str(entry.get("key", entry.get("reorder_id"))) for entry in found)


def _wait_proposed(target: Target) -> None:
    """Wait until each need of the shop has a proposal: then the pipeline has read the new shop."""
    deadline = time.monotonic() + target.timeout_s
    keys = [target.shop.key(sku) for sku in NEEDED]
    with target.reading() as connection:
        while connection.execute(_PROPOSED, (keys,)).fetchone() != (len(keys),):
            if time.monotonic() > deadline:
                problem = f"no proposals for {keys[0]} to {keys[-1]} after {target.timeout_s:g} s"
                raise PlantFailed(problem)
            time.sleep(_POLL_S)
