"""Comparison of live and recomputed states: equal, different, or on one side only."""

from pathlib import Path

from analytics.backfill.decisions import Decisions
from analytics.backfill.live import LivePartition
from analytics.backfill.plan import make_plan
from analytics.backfill.run import RunReport, execute
from analytics.backfill.verify import compared, side_by_side
from analytics.engines.results import STATES, ResultFile, read_rows
from tests.analytics.histories import archived, generate


def test_side_by_side_yields_each_key_once_in_order() -> None:
    live = [(b"A", b"1"), (b"C", b"3"), (b"D", b"4")]
    recomputed = [(b"A", b"1"), (b"B", b"2"), (b"D", b"5")]

    assert list(side_by_side(live, recomputed)) == [
        (b"A", b"1", b"1"),
        (b"B", None, b"2"),
        (b"C", b"3", None),
        (b"D", b"4", b"5"),
    ]


def live_of(run: RunReport, directory: Path, *, spoiled: bytes | None) -> list[LivePartition]:
    """Return the run's states as if workers held them. `spoiled` replaces one of them."""
    parts = []
    for number, end in run.plan.ends.items():
        units = [row for row in run.rows if row.partition == number]
        rows = sorted(entry for unit in units for entry in read_rows(unit, STATES))
        target = directory / str(number)
        target.mkdir(parents=True)
        file = ResultFile(target, STATES)
        for key, offset, content in rows:
            file.write(key, offset, b"{}" if key == spoiled else content)
        file.close()
        opened = sum(unit.open_reorders for unit in units)
        parts.append(LivePartition(number, end, target, file.digest, opened))
    return parts


def test_a_differing_state_is_named_for_a_run_with_several_buckets(tmp_path: Path) -> None:
    manifest = archived(tmp_path / "archive", generate(seed=5))
    ends = {number: manifest.next_offset(number) for number in range(3)}
    plan = make_plan(manifest, engine="local", ends=ends, buckets=2)
    run = execute(plan, tmp_path / "runs")
    said = Decisions(0, ())

    equal = compared(live_of(run, tmp_path / "equal", spoiled=None), run, said)
    other = compared(live_of(run, tmp_path / "other", spoiled=b"L0|S3"), run, said)

    assert equal.ok
    assert equal.keys_compared == run.as_json()["keys"]
    assert equal.live_digest == run.as_json()["states_digest"]
    assert (other.exit_code, other.keys_differing) == (1, 1)
    assert other.as_json()["differences"][0]["key"] == "L0|S3"
    assert other.live_digest != equal.live_digest
