"""Recomputation: any split, engine or restart gives the same digests."""

from pathlib import Path

import pytest

from analytics.backfill.plan import Plan, make_plan
from analytics.backfill.run import RunReport, execute
from analytics.engines.results import STATES, read_rows
from analytics.engines.task import recompute
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.state import encode_state
from inventory.fold.partition import Partition
from inventory.model.ids import InvKey
from tests.analytics.histories import PARTITIONS, Generated, archived, generate

pytestmark = pytest.mark.engines


@pytest.fixture(name="history", scope="module")
def a_history() -> Generated:
    return generate(seed=11)


def plan_of(tmp_path: Path, history: Generated, *, engine: str = "local", buckets: int = 1) -> Plan:
    archive = tmp_path / "archive"
    manifest = archived(archive, history)
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine=engine, ends=ends, buckets=buckets)


def digests(report: RunReport) -> dict[str, object]:
    names = ("keys", "outputs", "late", "rejected", "open_reorders", "digest", "states_digest")
    return {name: report.as_json()[name] for name in names}


def test_local_and_spark_give_the_same_digests(tmp_path: Path, history: Generated) -> None:
    local = execute(plan_of(tmp_path, history), tmp_path / "runs")
    spark = execute(plan_of(tmp_path, history, engine="spark"), tmp_path / "runs")

    assert digests(local) == digests(spark)
    assert local.as_json()["keys"] == len(history.keys)
    assert local.as_json()["rejected"] > 0
    assert local.as_json()["late"] > 0


@pytest.mark.domain("9 W8 *")
def test_any_number_of_buckets_gives_the_same_digests(tmp_path: Path, history: Generated) -> None:
    whole = execute(plan_of(tmp_path, history), tmp_path / "runs")
    split = execute(plan_of(tmp_path, history, buckets=5), tmp_path / "runs")

    assert len(split.plan.units) == 5 * PARTITIONS
    assert digests(split) == digests(whole)


@pytest.mark.domain("9 W8 *")
def test_a_recomputation_gives_the_states_of_a_partition_that_judged_itself(
    tmp_path: Path, history: Generated
) -> None:
    live: dict[InvKey, bytes] = {}
    for arrivals in history.log.values():
        partition = Partition(1)
        for arrival in arrivals:
            try:
                partition.apply(decode(arrival.key, arrival.value, offset=arrival.offset))
            except Malformed:
                continue
        live |= {key: encode_state(state) for key, state in partition.states.items()}

    report = execute(plan_of(tmp_path, history), tmp_path / "runs")

    batch = {
        InvKey(key.decode()): state
        for row in report.rows
        for key, _offset, state in read_rows(row, STATES)
    }
    assert batch == live


def test_a_finished_plan_is_not_computed_again(tmp_path: Path, history: Generated) -> None:
    plan = plan_of(tmp_path, history)
    first = execute(plan, tmp_path / "runs")

    second = execute(plan, tmp_path / "runs")

    assert first.units_computed == PARTITIONS
    assert second.units_computed == 0
    assert digests(second) == digests(first)


def test_an_interrupted_run_computes_only_what_is_missing(
    tmp_path: Path, history: Generated
) -> None:
    plan = plan_of(tmp_path, history)
    whole = execute(plan, tmp_path / "runs")
    manifest = whole.directory / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text(lines[0] + lines[1][:30])

    again = execute(plan, tmp_path / "runs")

    assert again.units_computed == PARTITIONS - 1
    assert digests(again) == digests(whole)


def test_a_unit_ends_before_its_end_offset(tmp_path: Path, history: Generated) -> None:
    archive = tmp_path / "archive"
    manifest = archived(archive, history)
    plan = make_plan(manifest, engine="local", ends={0: 40, 1: 0, 2: 5})

    rows = [recompute(unit, tmp_path / "results") for unit in plan.units]

    assert [row.records for row in rows] == [40, 5]
