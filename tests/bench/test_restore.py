"""The bench of restores restores all keys. A warm restore reads the snapshot only."""

import pytest

from bench import restore

pytestmark = pytest.mark.engines


def test_all_keys_come_back_cold_and_warm(monkeypatch) -> None:
    monkeypatch.setattr(restore, "_TEMPLATES", 20)

    report = restore.run(keys=240)

    assert report.keys == 240
    assert [way.way for way in report.ways] == ["cold", "warm"]
    assert report.as_json()["files_mb"] > 0
    assert "240 keys in 12 partitions" in str(report)
