"""Runs over one small archive with the present and with changed rules, folded in this process."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from analytics.archive.manifest import Manifest
from analytics.archive.source import write_source_id
from analytics.archive.writer import open_writers
from analytics.backfill import plan as plans
from analytics.backfill.diff.comparison import Diff, compare
from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.plan import make_plan
from analytics.backfill.run import execute, runs_dir
from analytics.engines import local, spark, task, unit
from analytics.engines.failure import UnitFailed
from analytics.engines.spark import LOCAL, Cluster
from analytics.engines.task import attempt
from analytics.engines.unit import ArchiveUnit, ManifestRow
from cdc.settings import Connections
from inventory.fold import decisions
from inventory.model.policy import ItemLocation
from inventory.pricing import proposals
from inventory.pricing.targets import floor_minor
from inventory.replenishment import quantity, transitions
from inventory.replenishment.levels import Levels, levels
from inventory.replenishment.terms import stock_terms
from tests.analytics.histories import PARTITIONS, POLICY, Generated, _Writer, feed

Change = Callable[[pytest.MonkeyPatch], None]
SUPPLIERS = ("ACME", "BORG", "<b>&Co</b>")


def a_history(seed: int = 3, *, steps: int = 300, keys: int = 9) -> Generated:
    """Return some days of trade; every third item is priced below its floor."""
    rng = random.Random(seed)  # noqa: S311 -- seeded test data
    history = Generated()
    writer = _Writer(rng, history)
    names = [f"L{number % 3}|S{number}" for number in range(keys)]
    for number, name in enumerate(names):
        below = {"cost_minor": 900} if number % 3 == 0 else {}
        supplier = {"supplier": SUPPLIERS[number % 3]}
        writer.row("item_location", name, POLICY | supplier | below)
        writer.row("stock_count", name, {"units": 40, "kind": "opening", "status": "approved"})
    for _ in range(steps):
        writer.step(rng.choice(names))
    return history


def nothing(_patch: pytest.MonkeyPatch) -> None:
    """Change no rule."""


def higher_reorder_point(patch: pytest.MonkeyPatch) -> None:
    """Raise every reorder point by 3 units."""

    def changed(
        policy: ItemLocation | None, rate_micro: int | None, mad_micro: int | None
    ) -> Levels:
        level = levels(policy, rate_micro, mad_micro)
        point = level.reorder_point_units
        up = None if point is None else point + 3
        return Levels(level.safety_stock_units, up, level.order_up_to_units)

    patch.setattr(decisions, "levels", changed)


def one_pack_more(patch: pytest.MonkeyPatch) -> None:
    """Add a pack to every order. Needs open at the same records as before."""
    proper = quantity.packed_units
    patch.setattr(quantity, "packed_units", lambda p, need: proper(p, need) + p.pack_units)


def another_term(patch: pytest.MonkeyPatch) -> None:
    """Add a term to the explanation of every need."""
    patch.setattr(transitions, "stock_terms", lambda *given: (*stock_terms(*given), ("weather", 1)))


def lower_floor(patch: pytest.MonkeyPatch) -> None:
    """Lower every price floor by 0.20."""
    patch.setattr(proposals, "floor_minor", lambda *given: (floor_minor(*given) or 0) - 20)


@dataclass(frozen=True)
class Home:
    """A home with an archive, and runs over it."""

    settings: Connections
    manifest: Manifest

    def run(
        self,
        change: Change = nothing,
        *,
        engine: str = "local",
        buckets: int = 1,
        ends: dict[int, int] | None = None,
        code: str = "",
    ) -> str:
        """Compute a run by changed rules. Return its name."""
        known = ends or {number: self.manifest.next_offset(number) for number in range(PARTITIONS)}
        with pytest.MonkeyPatch.context() as patch:
            change(patch)
            for module in (plans, unit):
                patch.setattr(module, "code_hash", lambda: code or f"code-{change.__name__}")
            patch.setattr(task, "refuse_other_code", lambda _expected: None)
            # A pool or a Spark job would not see the changed rule; test_engines compares engines.
            for either in (local, spark):
                patch.setattr(either, "run_units", _run_here)
            plan = make_plan(self.manifest, engine=engine, ends=known, buckets=buckets)
            return execute(plan, runs_dir(self.settings)).plan.run

    def compare(self, a: str, b: str, scratch: Scratch) -> Diff:
        """Return the difference of two runs."""
        return compare(self.settings, a, b, scratch)


def _run_here(
    units: Sequence[ArchiveUnit], results: Path, *, cluster: Cluster = LOCAL
) -> Iterator[ManifestRow | UnitFailed]:
    return (attempt(one, results) for one in units)


def a_home(home: Path, history: Generated | None = None, *, generation: int = 1) -> Home:
    """Return a home whose archive holds `history`."""
    settings = Connections(home=home, partitions=PARTITIONS)
    settings.archive_dir.mkdir(parents=True)
    write_source_id(settings.archive_dir, "id-of-the-topic")
    found = history or a_history()
    for writer in open_writers(settings.archive_dir, partitions=PARTITIONS, generation=generation):
        feed(writer, found.log[writer.partition], roll_every=37)
    return Home(settings, Manifest(settings.archive_dir))
