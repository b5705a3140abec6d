"""Properties of the Spark session of a recomputation."""

from pathlib import Path

import pytest

from analytics.engines import spark


@pytest.mark.parametrize(
    ("master", "address", "shown"),
    [
        ("local[2]", "127.0.0.1", "true"),
        ("spark://127.0.0.1:7077", "127.0.0.1", "true"),
        ("spark://localhost:7077", "127.0.0.1", "true"),
        ("spark://10.0.0.5:7077", "127.0.0.1", "false"),
        ("spark://127.0.0.1:7077,10.0.0.5:7077", "127.0.0.1", "false"),
        ("k8s://https://127.0.0.1:6443", "127.0.0.1", "false"),
        ("local[2]", "10.0.0.4", "false"),
        ("local[2]", "", "false"),
    ],
)
def test_sparks_pages_are_on_where_only_this_machine_reaches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, address: str, shown: str
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", address)

    found = spark._properties(tmp_path, master)

    assert found["spark.ui.enabled"] == shown
    assert found["spark.ui.killEnabled"] == "false"
    assert found["spark.eventLog.enabled"] == "true"
