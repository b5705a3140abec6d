"""Properties of the Spark session of a recomputation."""

from pathlib import Path

import pytest

from analytics.engines import spark


@pytest.mark.parametrize(
    ("master", "shown"),
    [
        ("local[2]", "true"),
        ("spark://127.0.0.1:7077", "true"),
        ("spark://10.0.0.5:7077", "false"),
    ],
)
def test_sparks_pages_are_on_where_only_this_machine_reaches_them(
    tmp_path: Path, master: str, shown: str
) -> None:
    found = spark._properties(tmp_path, master)

    assert found["spark.ui.enabled"] == shown
    assert found["spark.eventLog.enabled"] == "true"
