"""If a run needs records that aren't archived yet, it archives them first, with each engine."""

from pathlib import Path

import pytest

from analytics import kafka
from analytics.archive.complete import archive_until
from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.archive.names import SOURCE
from analytics.backfill.ends import history
from analytics.backfill.plan import make_plan
from analytics.backfill.run import execute, run, runs_dir
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack

pytestmark = pytest.mark.soak


@pytest.fixture(name="ends")
def ends_of_the_log(stack: RunningStack) -> dict[int, int]:
    Shop(stack.settings.owner_database_url.get_secret_value()).trade()
    settings = stack.settings
    return kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)


def behind(settings: Connections, home: Path, ends: dict[int, int]) -> Connections:
    """Return a home whose archive holds about half of each partition's records before `ends`."""
    own = settings.model_copy(update={"home": home})
    archive_until(own, {number: end // 2 for number, end in ends.items()})
    return own


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_run_over_a_lagging_archive_equals_one_over_a_complete_archive(
    stack: RunningStack, tmp_path: Path, ends: dict[int, int], engine: str
) -> None:
    whole = stack.settings.model_copy(update={"home": tmp_path / "whole"})
    archive_until(whole, ends)
    complete = run("local", ends, settings=whole)
    own = behind(stack.settings, tmp_path / "behind", ends)
    archived = Manifest(own.archive_dir)
    missing = sum(max(0, end - archived.next_offset(number)) for number, end in ends.items())
    assert missing > 0
    reported: list[tuple[int, int]] = []

    manifest, found = history(
        own, ends, runs=runs_dir(own), report=lambda *counts: reported.append(counts)
    )
    report = execute(make_plan(manifest, engine=engine, ends=found), runs_dir(own))

    assert reported[-1] == (missing, missing)
    assert report.digest == complete.digest
    assert report.as_json()["records"] == complete.as_json()["records"]


def test_a_lagging_archive_of_another_topic_is_refused(
    stack: RunningStack, tmp_path: Path, ends: dict[int, int]
) -> None:
    own = behind(stack.settings, tmp_path, ends)
    source = own.archive_dir / SOURCE
    known = kafka.topic_id(own.kafka_bootstrap, STOCK_EVENTS)
    source.write_text(source.read_text().replace(known, "another-topic"))

    with pytest.raises(BrokenArchive, match="deleted and recreated"):
        run("local", ends, settings=own)
