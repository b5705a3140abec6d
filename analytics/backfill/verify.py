"""`backfill verify`: recompute to the offsets of the live workers and compare, byte for byte.

The workers' changelogs give every key's state and, per partition, the largest offset that any of
them includes. History is recomputed to exactly there. A record after it has changed no state yet, a
record before it must have the same effect in both.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analytics.archive.follow import archive_until
from analytics.backfill.decisions import Decisions, compare_decisions
from analytics.backfill.plan import make_plan
from analytics.backfill.run import Progress, RunReport, _silent, execute, runs_dir
from analytics.digest import add, as_hex, row_hash
from analytics.engines.results import STATES, read_rows
from analytics.engines.spark import DEFAULT_MASTER
from analytics.live_state import LiveState
from cdc.contracts.state import encode_state
from cdc.settings import Connections
from inventory.model.ids import InvKey

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class BackfillVerifyReport:
    """How many keys were compared, and which differ."""

    run: RunReport
    keys_compared: int
    differing: tuple[dict[str, Any], ...]
    live_digest: str
    open_reorders_live: int
    decisions: Decisions

    @property
    def ok(self) -> bool:
        """Whether every key is equal, byte for byte, and every proposal is a decision."""
        return not self.differing and self.decisions_equal

    @property
    def decisions_equal(self) -> bool:
        """Whether both sides have the same open needs, and Postgres the same proposals."""
        recomputed = sum(row.open_reorders for row in self.run.rows)
        return self.open_reorders_live == recomputed and self.decisions.ok

    @property
    def exit_code(self) -> int:
        """0 equal, 1 not."""
        return 0 if self.ok else 1

    def as_json(self) -> dict[str, Any]:
        """The report for scripts."""
        batch = self.run.as_json()
        return {
            "run": batch["run"],
            "engine": batch["engine"],
            "ends": batch["ends"],
            "keys_compared": self.keys_compared,
            "keys_differing": len(self.differing),
            "live_digest": self.live_digest,
            "recomputed_digest": batch["states_digest"],
            "open_reorders_live": self.open_reorders_live,
            "open_reorders_recomputed": batch["open_reorders"],
            "decisions_compared": self.decisions.compared,
            "decisions_differing": len(self.decisions.differing),
            "decisions_behind": self.decisions.behind,
            "decisions_equal": self.decisions_equal,
            "records": batch["records"],
            "seconds": batch["seconds"],
            "differences": list(self.differing[:_SHOWN]),
            "decision_differences": list(self.decisions.differing[:_SHOWN]),
        }


def verify(
    engine: str = "local",
    *,
    settings: Connections | None = None,
    master: str = DEFAULT_MASTER,
    progress: Progress = _silent,
) -> BackfillVerifyReport:
    """Compare the live workers' states with a recomputation to the same offsets."""
    known = settings or Connections()
    live = LiveState(known)
    live.refresh()
    ends = {number: at + 1 for number, at in live.positions.items()}
    manifest = archive_until(known, ends)
    plan = make_plan(manifest, engine=engine, ends=ends)
    report = execute(plan, runs_dir(known), master=master, progress=progress)
    return _compared(live, report, compare_decisions(known, report.rows, ends))


def _compared(live: LiveState, run: RunReport, decisions: Decisions) -> BackfillVerifyReport:
    batch = {
        InvKey(key.decode()): state
        for row in run.rows
        for key, _offset, state in read_rows(Path(row.directory), STATES)
    }
    differing: list[dict[str, Any]] = []
    digest = open_reorders = 0
    keys = sorted({*batch, *live.keys()})
    for key in keys:
        theirs = None
        if key in live.levels:
            state = live.state(key)
            theirs = encode_state(state)
            open_reorders += state.episode.state == "open"
            place = state.position.offset.to_bytes(8, "little")
            digest = add(digest, row_hash(key.encode(), place, theirs))
        if theirs != batch.get(key):
            differing.append(_difference(key, theirs, batch.get(key)))
    return BackfillVerifyReport(
        run, len(keys), tuple(differing), as_hex(digest), open_reorders, decisions
    )


def _difference(key: InvKey, live: bytes | None, batch: bytes | None) -> dict[str, Any]:
    return {
        "key": key,
        "live": None if live is None else live.decode(),
        "recomputed": None if batch is None else batch.decode(),
    }
