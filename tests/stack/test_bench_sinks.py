"""`inventory bench sinks` on a broker and a Postgres of its own; the shared stack is not used."""

import json

import pytest

from tests.stack.running import run_inventory

pytestmark = pytest.mark.soak


def test_the_sinks_bench_runs_each_sink_over_the_whole_generated_log(tmp_path) -> None:
    line = ("bench", "sinks", "--records", "3000", "--keys", "300", "--seed", "2", "--json")

    result = run_inventory(*line, home=tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert (report["facts"], report["keys"], report["seed"]) == (3000, 300, 2)
    records = {sink["name"]: sink["records"] for sink in report["sinks"]}
    assert list(records) == ["archiver", "projector", "actuator", "feed"]
    assert records["archiver"] == 3000
    assert 300 <= records["feed"] < records["projector"]
    assert records["actuator"] > 0
    assert all(sink["sink_us"] > 0 for sink in report["sinks"])
