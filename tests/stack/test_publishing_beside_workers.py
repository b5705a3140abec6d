"""Obstacles to a publication on a running stack: large topics, other topics, workers."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from analytics import kafka
from analytics.archive.follow import checked_starts
from analytics.archive.manifest import BrokenArchive
from analytics.archive.source import source_id
from analytics.archive.writer import PartitionWriter, open_writers
from analytics.backfill.publish import Publishable
from cdc.contracts.topics import APP_ID, STOCK_EVENTS
from cdc.sources import hash_of
from cdc.workers import WorkerRules, worker_rules
from deploy.errors import StackError
from deploy.revisions import progress, publish
from deploy.revisions.promote import SwitchRequest, promote
from deploy.revisions.publish import commit, refuse_workers
from deploy.revisions.rules import addresses
from deploy.stack.home import PROJECT
from inventory.revision import LOGIC_REVISION
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack


@dataclass
class Clock:
    """Clock that advances only when a test sets it."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def shop(stack: RunningStack) -> Shop:
    opened = Shop(stack.settings.owner_database_url.get_secret_value())
    opened.trade()
    return opened


def slowly(tail: kafka.Tail, clock: Clock, ends: dict[int, int]) -> Iterator[Any]:
    """Yield the messages. Before each, advance the clock by 1 s less than the reader's timeout."""
    for message in tail.read_until(ends):
        clock.now += kafka.TIMEOUT_S - 1
        yield message


def test_reading_a_topic_times_out_only_if_no_record_arrives(
    stack: RunningStack, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "_BATCH", 1)
    asked = stack.settings.kafka_bootstrap, STOCK_EVENTS, stack.settings.partitions
    stack.wait_until(lambda: sum(kafka.end_offsets(*asked).values()) >= 3)
    ends = kafka.end_offsets(*asked)
    clock = Clock()

    read = list(slowly(kafka.Tail(*asked, clock=clock), clock, ends))

    assert len(read) >= 3
    assert clock.now > kafka.TIMEOUT_S

    waited = itertools.count(0, int(kafka.TIMEOUT_S / 4))
    behind = {0: ends[0] + 1_000_000}
    with pytest.raises(kafka.TopicUnreadable, match=r"partitions \[0\] not read to their end"):
        list(kafka.Tail(*asked, {0: ends[0]}, clock=waited.__next__).read_until(behind))


def test_a_refused_archive_stores_no_source_topic_id(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    settings = stack.settings.model_copy(update={"home": tmp_path})
    writers = open_writers(settings.archive_dir, partitions=settings.partitions, generation=1)
    beyond = cast("PartitionWriter", SimpleNamespace(partition=0, next_offset=1_000_000))

    with pytest.raises(
        BrokenArchive, match=r"holds offsets 0 to .*, but the archive continues at 1000000"
    ):
        checked_starts(settings, [beyond])

    assert source_id(settings.archive_dir) is None
    checked_starts(settings, writers)
    assert source_id(settings.archive_dir) == kafka.topic_id(settings.kafka_bootstrap, STOCK_EVENTS)


def test_publishing_the_deciding_revision_does_not_advise_to_stop_its_workers(
    stack: RunningStack,
) -> None:
    with pytest.raises(StackError, match="decides here; to publish another revision") as refused:
        refuse_workers(stack.settings)

    assert refused.value.repair == "inventory revision list"


def test_a_switch_without_comparison_is_refused_while_former_workers_run(
    stack: RunningStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.revisions.members._SESSION_S", 0.0)
    request = SwitchRequest(LOGIC_REVISION + 1, "test", 1.0, without_comparison=True)

    running = rf"workers of logic revision {LOGIC_REVISION} still run \(\d+\)"
    with pytest.raises(StackError, match=running):
        promote(stack.settings, request)


def test_each_worker_reports_the_sources_that_it_imported(stack: RunningStack) -> None:
    urls = addresses(stack.settings, LOGIC_REVISION)

    found = [worker_rules(stack.settings, url) for url in urls]

    assert found
    assert {one.code for one in found if isinstance(one, WorkerRules)} == {hash_of(PROJECT)}


def test_publishing_the_deciding_revision_does_not_advise_to_retire_it(
    stack: RunningStack, shop: Shop, tmp_path: Path
) -> None:
    """Records of the revision prevent the publication, but a deciding revision can't be retired."""
    stack.wait_until(lambda: any(progress.reached(stack.settings, LOGIC_REVISION).values()))

    with pytest.raises(StackError, match=r"has its own state already, .* decides here") as refused:
        publish._missing(stack.settings, Publishable("R", "c", tmp_path, ()))

    assert refused.value.repair == "inventory revision list"


def test_a_publication_leaves_the_group_offsets_of_running_workers_unchanged(
    stack: RunningStack,
) -> None:
    said: list[str] = []

    commit(stack.settings.kafka_bootstrap, {0: 1}, said.append)

    assert len(said) == 1
    assert f"the run is published; the offsets of group {APP_ID} stay unchanged" in said[0]
