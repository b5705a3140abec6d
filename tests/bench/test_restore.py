"""The bench of restores restores all keys. A warm restore reads the snapshot only."""

import pytest

from bench import restore
from bench.restore import SyntheticLog

pytestmark = pytest.mark.engines


def test_a_cold_and_a_warm_restore_return_all_keys(monkeypatch) -> None:
    monkeypatch.setattr(restore, "_TEMPLATES", 20)

    report = restore.run(keys=12_000)

    assert report.keys == 12_000
    assert [way.way for way in report.ways] == ["cold", "warm"]
    assert all(way.memory_mb > 1 for way in report.ways)  # each way has a new process
    assert report.as_json()["files_mb"] > 0
    records = [
        len(record.value or b"")
        for log in (SyntheticLog(1_000, number, restore._templates(1)) for number in range(12))
        for record in log._levels(0, 1_000)
    ]
    assert report.level_bytes == sum(records) // len(records)
    assert "12000 keys in 12 partitions" in str(report)
