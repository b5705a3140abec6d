"""Differences between a run and the decisions of live workers. Either can be side A."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaException
from typer.testing import CliRunner

from analytics import kafka
from analytics.archive.manifest import Manifest
from analytics.backfill.diff.compared_runs import NotComparable, compared_run
from analytics.backfill.diff.comparison import Diff
from analytics.backfill.diff.divergence import Trees
from analytics.backfill.diff.live_divergence import divergence_from_live
from analytics.backfill.diff.page import write_page
from analytics.backfill.diff.revised import PRICE, REORDER
from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.diff.tables import write_tables
from analytics.backfill.diff.with_live import (
    LiveAndRun,
    compare_with_live,
    live_and_run,
    sides_of,
)
from analytics.backfill.plan import UnknownRun, make_plan
from analytics.backfill.run import execute, runs_dir
from analytics.engines import code, local
from analytics.engines.selection import Selection
from analytics.kafka import TopicUnreadable
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import REORDER_EVENTS
from cdc.contracts.versions import UnreadableRecord
from deploy.cli.main import app
from inventory.model.ids import InvKey
from tests.analytics import two_runs
from tests.analytics.histories import PARTITIONS
from tests.analytics.published import Workers
from tests.analytics.test_diff_runs import counts
from tests.analytics.two_runs import Home, _run_here, a_history, a_home

HISTORY = a_history(steps=240, keys=18)
ENDS = {number: len(part) for number, part in HISTORY.log.items()}


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("live") / "home", HISTORY)


@pytest.fixture(name="workers")
def workers_at_the_end() -> Workers:
    return Workers(HISTORY).fold(ENDS)


@pytest.fixture(name="scratch")
def a_scratch() -> Iterator[Scratch]:
    with Scratch() as found:
        yield found


def sides(home: Home, workers: Workers, run: str, *, is_live_a: bool = True) -> LiveAndRun:
    compared = compared_run(runs_dir(home.settings) / run)
    archive = home.settings.archive_location
    return sides_of(workers.live(), compared, archive, is_live_a=is_live_a)


def compared(
    home: Home, workers: Workers, run: str, scratch: Scratch, *, is_live_a: bool = True
) -> Diff[LiveAndRun]:
    both = sides(home, workers, run, is_live_a=is_live_a)
    return compare_with_live(workers.live(), both, scratch)


def digest(home: Home, workers: Workers, run: str) -> str:
    with Scratch() as scratch:
        return compared(home, workers, run, scratch).digest


def open_needs(home: Home, run: str) -> int:
    return sum(row.open_reorders for row in compared_run(runs_dir(home.settings) / run).rows)


def test_workers_and_a_run_by_the_same_rules_are_equal(home: Home, scratch: Scratch) -> None:
    workers, run = Workers(HISTORY).fold(ENDS, chunk=11), home.run(buckets=3)

    found = compared(home, workers, run, scratch)

    assert (found.is_equal, found.exit_code, found.runs.live.left_out) == (True, 0, [])
    assert found.totals[REORDER].equal == open_needs(home, run) > 0
    assert found.totals[PRICE].equal > 0
    assert found.as_json()["a"] == {
        "live": True,
        "logic_revision": 2,
        "reached": {str(number): end for number, end in ENDS.items()},
        "left_out": 0,
        "left_out_first": [],
    }
    assert found.as_json()["b"]["run"] == run


@pytest.mark.parametrize(
    ("change", "reorders", "prices"),
    [
        (two_runs.one_pack_more, {"changed"}, set()),
        (two_runs.another_term, {"explanation"}, set()),
        (two_runs.higher_reorder_point, {"only_b", "course"}, set()),
        (two_runs.lower_floor, set(), {"changed"}),
    ],
)
def test_a_changed_rule_shows_in_its_class(
    home: Home,
    workers: Workers,
    scratch: Scratch,
    change: two_runs.Change,
    reorders: set[str],
    prices: set[str],
) -> None:
    found = compared(home, workers, home.run(change), scratch)

    classes = [
        {name for name, count in counts(found, kind).items() if count and name != "equal"}
        for kind in (REORDER, PRICE)
    ]
    assert reorders <= classes[0] <= {*reorders, "explanation"}
    assert classes[1] == prices
    assert found.exit_code == 1


def test_a_moved_archive_is_read_from_the_configured_location(
    workers: Workers, scratch: Scratch, tmp_path: Path
) -> None:
    former = a_home(tmp_path / "home", HISTORY)
    run, copy = former.run(), tmp_path / "copy"
    former.settings.archive_dir.rename(copy)
    settings = former.settings.model_copy(update={"archive": str(copy)})

    found = compared(Home(settings, Manifest(copy)), workers, run, scratch)

    assert found.is_equal
    assert found.totals[REORDER].equal > 0


def test_swapped_sides_swap_the_difference(home: Home, workers: Workers) -> None:
    run = home.run(two_runs.one_pack_more)
    with Scratch() as ours, Scratch() as theirs:
        one = compared(home, workers, run, ours)
        other = compared(home, workers, run, theirs, is_live_a=False)

        assert one.sums(REORDER)["delta_minor"] == -other.sums(REORDER)["delta_minor"] > 0
        assert (one.runs.a.name, other.runs.b.name) == ("live (revision 2)",) * 2


def test_the_digest_depends_on_neither_chunks_nor_compaction_nor_decisions_sent_again(
    home: Home, workers: Workers
) -> None:
    run = home.run(two_runs.higher_reorder_point)
    before = digest(home, workers, run)
    other_chunks = Workers(HISTORY).fold(ENDS, chunk=40)

    for topic, number in list(workers.broker.topics):
        if topic.endswith(("changelog", "events")) and topic != "stock.events":
            workers.broker.compact(topic, number)

    assert digest(home, workers, run) == before == digest(home, other_chunks, run)
    assert digest(home, workers, home.run()) != before


def test_keys_that_were_decided_again_after_the_end_are_left_out_and_counted(
    home: Home, workers: Workers, scratch: Scratch
) -> None:
    half = {number: end // 2 for number, end in ENDS.items()}

    found = compared(home, workers, home.run(ends=half), scratch)

    assert found.is_equal
    left = found.runs.live.left_out
    assert left
    assert f"{len(left)} decisions are left out" in found.runs.notes()[1]
    assert found.as_json()["a"]["left_out"] == len(left)
    assert found.as_json()["history"]["live"]["left_out"] == sorted(left)


def test_a_run_of_some_keys_is_compared_with_these_keys(
    home: Home, workers: Workers, scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_units", _run_here)
    chosen = Selection(stores=("L2",))
    plan = make_plan(home.manifest, engine="local", ends=ENDS, selection=chosen)
    run = execute(plan, runs_dir(home.settings)).plan.run

    found = compared(home, workers, run, scratch)

    assert found.is_equal
    assert 0 < found.totals[REORDER].equal < open_needs(home, home.run())


def test_a_comparison_with_live_state_writes_the_page_and_parquet_files(
    home: Home, workers: Workers, scratch: Scratch, tmp_path: Path
) -> None:
    found = compared(home, workers, home.run(two_runs.one_pack_more), scratch)

    reorders, *_ = write_tables(found, tmp_path / "out")
    page = write_page(found, tmp_path / "diff.html").read_text()

    assert pq.read_table(reorders).num_rows == found.count(REORDER)
    assert "live (revision 2)" in page
    assert "closed ones are not" in page
    assert json.dumps(found.as_json())


# Live states that can't be compared


def refusal(home: Home, workers: Workers, run: str) -> str:
    with Scratch() as scratch, pytest.raises(NotComparable) as refused:
        compared(home, workers, run, scratch)
    assert refused.value.exit_code == 2
    assert refused.value.kept == "nothing was compared, and no file was changed"
    return f"{refused.value.problem}; {refused.value.step}"


def test_workers_that_have_not_reached_the_end_are_refused(home: Home) -> None:
    behind = Workers(HISTORY).fold({number: end - 3 for number, end in ENDS.items()})

    problem = refusal(home, behind, home.run())

    assert f"published partition 0 up to offset {ENDS[0] - 3}" in problem
    assert f"ends at {ENDS[0]}" in problem


def test_workers_that_have_published_nothing_are_refused(home: Home) -> None:
    assert "partition 0 up to offset 0" in refusal(home, Workers(HISTORY), home.run())


def test_a_published_decision_missing_from_its_topic_is_reported(
    home: Home, workers: Workers
) -> None:
    number = next(n for n in range(PARTITIONS) if workers.broker.topics[REORDER_EVENTS, n])
    workers.broker.cut(REORDER_EVENTS, number, 1_000_000)

    problem = refusal(home, workers, home.run())

    assert "the topics lack the newest published decision" in problem
    assert "compare with a run that is limited to other keys" in problem


def test_the_live_state_of_a_recreated_topic_is_refused(home: Home, workers: Workers) -> None:
    run = compared_run(runs_dir(home.settings) / home.run())

    with pytest.raises(NotComparable, match="deleted and recreated"):
        sides_of(
            workers.live(topic_id="another"), run, home.settings.archive_location, is_live_a=True
        )


def test_simulated_outdated_and_malformed_decision_records_are_ignored(
    home: Home, workers: Workers, scratch: Scratch
) -> None:
    broker = workers.broker
    number = next(n for n in range(PARTITIONS) if broker.topics[REORDER_EVENTS, n])
    newest = broker.topics[REORDER_EVENTS, number][-1]
    assert newest.value is not None
    document = json.loads(newest.value)
    for wrong in ({"id": f"SIM:{document['id']}"}, {"logic_revision": 1}):
        broker.produce(REORDER_EVENTS, number, newest.key, json.dumps(document | wrong).encode())
    broker.produce(REORDER_EVENTS, number, newest.key, b"{")

    assert compared(home, workers, home.run(), scratch).is_equal


def test_a_record_with_an_unknown_schema_version_is_named(home: Home, workers: Workers) -> None:
    workers.broker.produce(REORDER_EVENTS, 0, b"L0|S0", b'{"schema": 99}')

    assert f"{REORDER_EVENTS}[0]@" in refusal(home, workers, home.run())


def test_the_live_state_cannot_be_compared_with_itself(home: Home) -> None:
    with pytest.raises(NotComparable, match="both the live state"):
        live_and_run(home.settings, "live", "live")
    with Scratch() as scratch, pytest.raises((UnknownRun, NotComparable), match="'live'"):
        home.compare("live", home.run(), scratch)


def test_without_a_broker_the_live_state_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "TIMEOUT_S", 1.0)
    settings = home.settings.model_copy(update={"kafka_bootstrap": "127.0.0.1:1"})

    with pytest.raises(NotComparable, match="did not answer"):
        live_and_run(settings, "live", home.run())


# One key


def test_a_key_has_both_explanations_at_its_last_record(home: Home, workers: Workers) -> None:
    run = home.run(two_runs.one_pack_more)
    live, both = workers.live(), sides(home, workers, run)
    with Scratch() as scratch:
        found = compare_with_live(live, both, scratch)
        key = str(next(found.scratch.ranked(REORDER))["inv_key"])

    shown = divergence_from_live(home.settings, live, sides(home, workers, run), key, Trees())

    assert shown is not None
    assert shown.about == f"last record before the end of {run}"
    assert shown.a.found is not None
    assert (shown.a.found.verdict, shown.a.problem) == ("published", "")
    assert "name the run's source tree with --code" in shown.b.problem
    written = [line[1:] for line in shown.lines() if line[0] == "Written by the run"]
    assert ("Quantity", "48", "54") in written
    assert ("Order quantity", "Quantity", "48", "") in shown.lines()
    own = home.run(code=code.code_hash())
    assert (
        divergence_from_live(home.settings, live, sides(home, workers, own), key, Trees()) is None
    )


def test_a_key_without_an_explanation_shows_the_reason(home: Home, workers: Workers) -> None:
    run = home.run(two_runs.one_pack_more)
    other = replace(workers.live(), state=lambda _number, _key: None)
    with Scratch() as scratch:
        compare_with_live(other, sides(home, workers, run), scratch)
        key = str(next(scratch.ranked(REORDER))["inv_key"])

    shown = divergence_from_live(home.settings, other, sides(home, workers, run), key, Trees())

    assert shown is not None
    assert "the code of this command can't explain" in shown.a.problem
    with pytest.raises(NotComparable, match="has no such key"):
        divergence_from_live(home.settings, other, sides(home, workers, run), "L0|none", Trees())


@pytest.mark.parametrize(
    "error", [KafkaException("away"), TopicUnreadable("cut"), UnreadableRecord("newer")]
)
def test_a_state_that_cannot_be_read_is_not_comparable(
    home: Home, workers: Workers, error: Exception
) -> None:
    run = home.run(two_runs.one_pack_more)

    def unreadable(_number: int, _key: InvKey) -> None:
        raise error

    live = replace(workers.live(), state=unreadable)
    with Scratch() as scratch:
        compare_with_live(live, sides(home, workers, run), scratch)
        key = str(next(scratch.ranked(REORDER))["inv_key"])

    with pytest.raises(NotComparable, match=str(error)):
        divergence_from_live(home.settings, live, sides(home, workers, run), key, Trees())


def test_an_archive_url_with_credentials_is_not_comparable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INVENTORY_ARCHIVE", "")

    refused = CliRunner().invoke(app, ["backfill", "diff", "a", "b", "--archive", "s3://k:s@b/x"])

    assert isinstance(refused.exception, NotComparable)
    assert refused.exception.exit_code == 2
    assert "k:s" not in str(refused.exception)


def test_a_key_decided_again_after_the_end_of_the_run_is_refused(
    home: Home, workers: Workers
) -> None:
    run = home.run(ends={number: end // 2 for number, end in ENDS.items()})
    with Scratch() as scratch:
        left = compared(home, workers, run, scratch).runs.live.left_out
    key = left[0].partition(" ")[2]
    assert partition_of(key.encode(), PARTITIONS) in ENDS

    with pytest.raises(NotComparable, match="decided about this key again"):
        divergence_from_live(home.settings, workers.live(), sides(home, workers, run), key, Trees())
