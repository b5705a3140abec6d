"""An archive that a person names keeps its own number of partitions, with or without files."""

from pathlib import Path

import pytest

from analytics.backfill.ends import history
from cdc.settings import Connections
from tests.analytics.histories import PARTITIONS, archived, generate


def ends(home: Path, partitions: int) -> dict[int, int]:
    settings = Connections(home=home, partitions=partitions, archive=str(home / "copy"))
    return history(settings, "archived", runs=home / "runs")[1]


@pytest.mark.parametrize("without", [(), (PARTITIONS - 1,), (PARTITIONS - 2, PARTITIONS - 1)])
def test_the_history_includes_partitions_without_archived_files(
    tmp_path: Path, without: tuple[int, ...]
) -> None:
    found = generate(seed=1, records=40)
    for number in without:
        found.log[number].clear()
    archived(tmp_path / "copy", found)

    expected = {number: len(found.log[number]) for number in range(PARTITIONS)}
    assert ends(tmp_path, PARTITIONS) == expected


@pytest.mark.parametrize("partitions", [2, 12])
def test_the_history_has_the_partition_count_of_a_named_archive(
    tmp_path: Path, partitions: int
) -> None:
    archived(tmp_path / "copy", generate(seed=1, records=40))

    assert sorted(ends(tmp_path, partitions)) == list(range(PARTITIONS))
