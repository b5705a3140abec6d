"""`inventory bench verify`: repeated comparisons of a trading stack, some with a planted wrong row.

On correct data `verify` must never end with 1; with a wrong row it always must. Code 2 means that
the pipeline did not catch up in time: nothing was compared, so the round proves nothing.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from analytics.verify import verify
from bench.verification.plants import KINDS, Planted, planted
from bench.verification.shop import NEEDED, Shop
from cdc.settings import Connections

SOUND: Final = "sound"
_POLL_S: Final = 0.5
_PROPOSED: Final = "SELECT count(*) FROM app.reorder_proposal WHERE inv_key = %s"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The rounds of a run; every `plant_every`th round has a wrong row, the kinds in turn."""

    rounds: int
    load: int
    seed: int
    plant_every: int
    timeout_s: float
    kinds: Sequence[str] = KINDS

    def kind_of(self, number: int) -> str:
        """Return the kind of row that is planted in this round, counted from 0."""
        turn, rest = divmod(number + 1, self.plant_every)
        return SOUND if rest else self.kinds[(turn - 1) % len(self.kinds)]


@dataclass(frozen=True, slots=True)
class Round:
    """One comparison: the planted kind, the exit code, and whether the row was still wrong then."""

    kind: str
    exit_code: int
    seconds: float
    in_flight: int
    is_there: bool
    named: bool

    @property
    def is_wrong(self) -> bool:
        """True for a false alarm or a missed wrong row."""
        if self.kind == SOUND:
            return self.exit_code == 1
        missed = self.exit_code == 0 and self.is_there
        return missed or (self.exit_code == 1 and not self.named)


@dataclass(slots=True)
class Report:
    """All rounds, and the comparison after the trade."""

    plan: Plan
    rounds: list[Round] = field(default_factory=list)
    lines: int = 0
    at_rest: int = 2

    @property
    def ok(self) -> bool:
        """True if no answer was wrong, and nothing differs after the trade."""
        return self.at_rest == 0 and not any(one.is_wrong for one in self.rounds)

    def as_json(self) -> dict[str, Any]:
        """Return the report for scripts."""
        return {
            "ok": self.ok,
            "rounds": len(self.rounds),
            "load": self.plan.load,
            "seed": self.plan.seed,
            "sale_lines": self.lines,
            "exit_code_at_rest": self.at_rest,
            "kinds": {kind: self._counted(kind) for kind in (SOUND, *self.plan.kinds)},
        }

    def rows(self) -> list[tuple[object, ...]]:
        """Return one row per kind, as `COLUMNS` names them."""
        return [tuple(counts.values()) for counts in self.as_json()["kinds"].values()]

    def _counted(self, kind: str) -> dict[str, object]:
        found = [one for one in self.rounds if one.kind == kind]
        seconds = [one.seconds for one in found]
        return {
            "planted": kind,
            "rounds": len(found),
            **{f"exit {code}": sum(one.exit_code == code for one in found) for code in (0, 1, 2)},
            "repaired by trade": sum(
                one.exit_code == 0 and not one.is_there for one in found if kind != SOUND
            ),
            "wrong": sum(one.is_wrong for one in found),
            "seconds, median": round(statistics.median(seconds), 1) if seconds else None,
            "most": round(max(seconds), 1) if seconds else None,
            "rows in flight, most": max((one.in_flight for one in found), default=0),
        }


COLUMNS: Final = (
    *("planted", "rounds", "exit 0", "exit 1", "exit 2", "repaired by trade", "wrong"),
    *("seconds, median", "most", "rows in flight, most"),
)


def run(settings: Connections, plan: Plan, tell: Say) -> Report:
    """Trade, compare repeatedly, and compare once more at rest."""
    shop = Shop(settings.database_url.get_secret_value(), plan.load, plan.seed)
    shop.open()
    _wait_proposed(settings, shop, plan.timeout_s)
    report = Report(plan)
    with shop.trading():
        for number in range(plan.rounds):
            one = _round(settings, plan, number, shop)
            report.rounds.append(one)
            tell(
                f"{number + 1} of {plan.rounds}: {one.kind}, exit {one.exit_code},"
                f" {one.seconds:.1f} s, {one.in_flight} rows in flight"
            )
    report.lines = shop.lines
    report.at_rest = verify(timeout=plan.timeout_s, settings=settings).exit_code
    return report


def _round(settings: Connections, plan: Plan, number: int, shop: Shop) -> Round:
    kind = plan.kind_of(number)
    sound = nullcontext(Planted("", lambda: False))
    wrong = sound if kind == SOUND else planted(kind, number, shop, settings)
    with wrong as row:
        started = time.monotonic()
        answer = verify(timeout=plan.timeout_s, settings=settings)
        seconds = time.monotonic() - started
        is_there = row.is_there()
    found = answer.as_json()
    return Round(
        kind=kind,
        exit_code=answer.exit_code,
        seconds=seconds,
        in_flight=found.get("rows_in_flight", 0),
        is_there=is_there,
        named=f"'{row.what}'" in str(found.get("differences", "")),
    )


def _wait_proposed(settings: Connections, shop: Shop, timeout_s: float) -> None:
    """Wait until the need of the shop has a proposal: the pipeline has processed the shop then."""
    deadline = time.monotonic() + timeout_s
    url = settings.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(_PROPOSED, (shop.key(NEEDED),)).fetchone() == (0,):
            if time.monotonic() > deadline:
                problem = f"no proposal for {shop.key(NEEDED)} after {timeout_s:g} s"
                raise TimeoutError(problem)
            time.sleep(_POLL_S)
