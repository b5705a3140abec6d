"""Choice of a proof's base, its runs on disk, its lock, and its exit codes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.manifest import Manifest
from analytics.backfill.base import BaseAhead
from analytics.backfill.decisions import DecisionRevision, Decisions, decided_since
from analytics.backfill.lock import RunInUse
from analytics.backfill.plan import PLAN_FILE
from analytics.backfill.prove import Planner, Proof, delete_others, only_proof, proofs_dir
from analytics.backfill.run import RunReport, execute
from analytics.backfill.verify import BackfillVerifyReport
from analytics.engines import local
from cdc.settings import Connections
from tests.analytics.histories import PARTITIONS, generate
from tests.analytics.two_runs import Home, _run_here, a_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(local, "run_units", _run_here)
    return a_home(tmp_path / "home", generate(seed=12, records=120))


def ends(manifest: Manifest, share: float) -> dict[int, int]:
    return {number: int(manifest.next_offset(number) * share) for number in range(PARTITIONS)}


def proved(home: Home, bases: list[str], until: Mapping[int, int]) -> tuple[RunReport, list[str]]:
    """Compute the run of a proof up to these offsets. Return it and why bases were not used."""
    planner = Planner(proofs_dir(home.settings), bases, "local")
    report = execute(planner.plan(home.manifest, until), planner.proofs)
    return report, planner.skipped


def test_a_proof_starts_from_the_newest_usable_run(home: Home) -> None:
    first, _ = proved(home, [], ends(home.manifest, 0.4))
    second, _ = proved(home, [first.plan.run], ends(home.manifest, 0.6))
    third, skipped = proved(home, [second.plan.run, first.plan.run], ends(home.manifest, 0.8))
    assert [run.plan.base_name for run in (first, second, third)] == [
        None,
        first.plan.run,
        second.plan.run,
    ]
    assert skipped == []

    (Path(second.rows[0].directory) / "states.parquet").write_bytes(b"")
    again, skipped = proved(home, [second.plan.run, first.plan.run], ends(home.manifest, 0.9))

    assert again.plan.base_name == first.plan.run
    assert len(skipped) == 1
    assert "changed" in skipped[0]


def test_a_proof_without_a_usable_run_starts_from_the_first_record(home: Home) -> None:
    run, skipped = proved(home, ["local-0123456789ab"], ends(home.manifest, 1.0))

    assert run.plan.base_name is None
    assert "local-0123456789ab" in skipped[0]


def test_workers_behind_the_base_are_not_compared(home: Home) -> None:
    base, _ = proved(home, [], ends(home.manifest, 0.6))

    with pytest.raises(BaseAhead) as refused:
        proved(home, [base.plan.run], ends(home.manifest, 0.5))
    assert refused.value.exit_code == 2


def test_an_unfinished_run_of_the_same_proof_is_computed_again(home: Home) -> None:
    until = ends(home.manifest, 0.5)
    run, _ = proved(home, [], until)
    kept, _ = proved(home, [], until)
    assert kept.units_computed == 0

    (run.directory / "_RUN.json").unlink()
    again, _ = proved(home, [], until)

    assert again.units_computed == len(again.plan.units)


def test_only_the_named_runs_of_proofs_are_kept(home: Home) -> None:
    runs = [proved(home, [], ends(home.manifest, share))[0] for share in (0.2, 0.4, 0.6)]

    delete_others(home.settings, {runs[1].plan.run, "local-0123456789ab"})

    left = [path.parent.name for path in proofs_dir(home.settings).glob(f"*/{PLAN_FILE}")]
    assert left == [runs[1].plan.run]


def test_two_proofs_never_run_at_once(tmp_path: Path) -> None:
    settings = Connections(home=tmp_path)
    with only_proof(settings), pytest.raises(RunInUse) as refused, only_proof(settings):
        pass
    assert refused.value.exit_code == 75
    with only_proof(settings):
        pass


def decision(revision: int, offset: int) -> DecisionRevision:
    return DecisionRevision(revision, "open", 2, offset)


def test_a_proof_leaves_out_proposals_of_records_before_its_base() -> None:
    older, boundary = "R:L|A:1-3", "R:L|B:1-4"
    amended, former = "R:L|C:1-5", "R:L|D:0-6"
    proposed = {
        older: decision(1, 9),
        boundary: decision(1, 10),
        amended: decision(1, 3),
        former: decision(1, 3),
    }

    found = decided_since({2: 10}, {amended: decision(2, 12)}, proposed, 1)

    assert found.keys() == {boundary, amended, former}
    assert decided_since({}, {}, proposed, 1) == proposed


def test_a_proof_has_the_exit_codes_of_a_comparison(home: Home) -> None:
    run, _ = proved(home, [], ends(home.manifest, 0.3))
    opened = sum(row.open_reorders for row in run.rows)
    equal = BackfillVerifyReport(run, 3, 0, (), "0" * 32, opened, Decisions(3, ()))
    other = replace(equal, keys_differing=1, differences=({"key": "L|S"},))
    behind = replace(equal, decisions=Decisions(0, (), {"actuator": 5}))

    assert [Proof(report, 1).exit_code for report in (equal, other, behind)] == [0, 1, 2]
    assert not Proof(behind, 1).is_comparable
    assert Proof(other, 1).differences == [{"key": "L|S"}]
