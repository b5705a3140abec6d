"""`inventory bench sinks`: its log, its report, and sinks with wrong rows. No service runs."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

from bench.backfill.archive import Size, events, generate
from bench.errors import BenchFailed
from bench.sinks import run
from bench.sinks.log import MadeLog, write_log
from bench.sinks.run import Measured, Report
from bench.sinks.sinks import Place, Sink, _archived, sinks
from cdc.contracts.partition import partition_of
from cdc.contracts.state import decode_level
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PARTITIONS,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
)
from cdc.settings import Connections
from streams.engine.records import Send

FACTS, KEYS = 2_000, 100


@dataclass
class Written:
    """A writer that keeps the records."""

    sends: list[tuple[int, Send]] = field(default_factory=list)

    def write(self, partition: int, send: Send) -> None:
        self.sends.append((partition, send))


def test_the_bench_log_has_each_fact_and_the_outputs_of_workers() -> None:
    written = Written()

    made = write_log(events(Size(FACTS, KEYS, seed=3)), written)

    sent = Counter((send.topic, partition) for partition, send in written.sends)
    assert made.ends == sent
    assert made.records(STOCK_EVENTS) == FACTS
    levels = {s.key: s for _, s in written.sends if s.topic == ON_HAND_CHANGELOG}
    states = [decode_level(send.value)[0] for send in levels.values()]
    assert made.keys == len(states) == KEYS
    assert made.units == sum(state.stock.on_hand_units for state in states)
    rows = {send.key for _, send in written.sends if send.topic == SALES_WINDOWS_CHANGELOG}
    assert 0 < len(made.windows) <= len(rows)
    assert 0 < len(made.reorders) <= made.records(REORDER_EVENTS)
    assert len(made.prices) <= made.records(PRICE_EVENTS)
    facts = [(partition, s) for partition, s in written.sends if s.topic == STOCK_EVENTS]
    assert all(partition == partition_of(send.key or b"") for partition, send in facts)


def test_a_seed_gives_the_same_log_again() -> None:
    made, again, other = (Written() for _ in range(3))

    for seed, written in ((1, made), (1, again), (2, other)):
        write_log(events(Size(FACTS, KEYS, seed)), written)

    assert made == again != other


def test_a_sink_that_skips_records_fails_the_bench() -> None:
    sink = Sink(
        name="projector",
        service="projector",
        arguments=(),
        begins="",
        topics=(),
        position=lambda _made: 1,
        expected=lambda made: {"keys": made.keys, "units on hand": made.units},
        found=lambda _made: {"keys": 1, "units on hand": 36},
    )

    with pytest.raises(BenchFailed) as failed:
        run._refuse_wrong(sink, MadeLog(on_hand_units={"L|S": 30, "L|T": 6}))

    assert str(failed.value) == ("projector wrote wrong contents: keys: expected 2, found 1")


def sink_of(name: str, home: Path) -> Sink:
    place = Place("", "", 0, 0, home, start=mock.Mock())
    return {sink.name: sink for sink in sinks(place, mock.Mock())}[name]


@pytest.mark.parametrize("lost", [0, 1])
def test_the_archive_has_each_fact_with_its_offset_and_content(tmp_path: Path, lost: int) -> None:
    archiver = sink_of("archiver", tmp_path)
    made = write_log(events(Size(FACTS, KEYS, seed=3)), Written())

    for seed, directory in ((3, tmp_path / "right"), (4, tmp_path / "other")):
        generate(directory, Size(FACTS - lost, KEYS, seed))
    (tmp_path / "right").rename(Connections(home=tmp_path).archive_dir)
    found = archiver.found(made)

    assert (found == archiver.expected(made)) is (lost == 0)
    assert sum(found[f"records of partition {n}"] for n in range(PARTITIONS)) == FACTS - lost
    assert found != _archived(tmp_path / "other")


def test_a_feed_without_the_last_level_of_a_key_fails_the_bench(tmp_path: Path) -> None:
    feed = sink_of("feed", tmp_path)
    made = MadeLog(on_hand_units={"L|S": 30, "L|T": 6})
    file = tmp_path / "feed-levels.json"

    file.write_text('{"L|S": 30, "L|T": 6}')
    run._refuse_wrong(feed, made)
    file.write_text('{"L|S": 30, "L|T": 7}')
    with pytest.raises(BenchFailed, match="keys with the units of the log: expected 2, found 1"):
        run._refuse_wrong(feed, made)
    file.write_text('{"L|S": 30}')
    with pytest.raises(BenchFailed, match="remembered keys: expected 2, found 1"):
        run._refuse_wrong(feed, made)


def test_the_report_has_one_row_per_sink_and_names_those_below_the_goal() -> None:
    fast = Measured("archiver", 50_000, 2.0, 21.5, 0.1, 3.0, load=0.4)
    slow = Measured("projector", 80_000, 5.0, 26.0, 40.2, 2.5, load=1.2)
    report = Report(facts=50_000, keys=5_000, seed=1, sinks=(fast, slow))

    lines = report.as_text().splitlines()

    assert [line.split() for line in lines[3:5]] == [
        ["archiver", "50,000", "2.0", "25,000", "21.5", "0.1", "3.0", "0.4"],
        ["projector", "80,000", "5.0", "16,000", "26.0", "40.2", "2.5", "1.2"],
    ]
    assert lines[-1] == "goal of 20,000 records/s: missed by projector"
    assert report.as_json()["sinks"][0]["records_per_s"] == 25_000
