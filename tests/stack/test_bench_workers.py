"""`inventory bench workers` on a broker and workers of its own; the shared stack is not used."""

import json

import pytest

from tests.stack.running import run_inventory

pytestmark = pytest.mark.soak


def test_the_workers_bench_compares_one_and_two_workers_under_queries(tmp_path) -> None:
    result = run_inventory(
        *("bench", "workers", "--records", "20000", "--keys", "2000", "--rounds", "1"),
        *("--timeout", "600", "--json"),
        home=tmp_path,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert [run["workers"] for run in report["runs"]] == [1, 2]
    one, two = report["runs"]
    # Records of the log before the start, and sale lines written after the workers caught up.
    assert 5_000 <= one["records"] <= 26_000
    assert 5_000 <= two["records"] <= 31_000
    assert min(one["answers"], two["answers"]) > 0
    assert 0 < two["wait_p99_s"] <= two["wait_longest_s"]
    assert report["gain"] == two["records_per_s"] / one["records_per_s"]
