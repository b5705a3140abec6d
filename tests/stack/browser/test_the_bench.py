"""`inventory bench pipeline` on a running stack: it measures lines that it wrote itself."""

import json

import pytest

from tests.stack.browser.conftest import People
from tests.stack.running import RunningStack


@pytest.mark.soak
def test_the_pipeline_bench_times_every_line_until_a_browser_has_painted_it(
    stack: RunningStack, people: People
) -> None:
    if not stack.home.logins_file.exists():
        stack.home.logins_file.write_text(
            json.dumps({"analyst": people.password}), encoding="utf-8"
        )

    options = "--rates 200 --seconds 2 --latency-rate 50 --rest 2 --warm-up 1 --json"
    options += " --paint-rate 200 --basket 20 --pages 5"
    done = stack.cli("bench", "pipeline", *options.split())

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (sustained,) = report["sustained"]
    assert sustained["lines"] == 400
    assert sustained["shown_max_s"] >= sustained["behind_max_s"] > 0
    assert report["latency"]["lines"] == 100
    painted = report["pixels"]
    assert (painted["lines"], painted["pages"], painted["basket"]) == (400, 5, 20)
    assert 0 <= painted["p50_ms"] <= painted["p99_ms"] <= painted["p999_ms"] <= painted["max_ms"]
    cpu = {row["service"]: row for row in report["cpu"]}
    assert {"postgres", "kafka", "connect", "worker-1", "supervisor", "all"} <= cpu.keys()
    assert cpu["connect"]["line_us"] > 0
    assert cpu["all"]["rest_percent"] > 0
    written = {(row["kind"], row["name"]): row["line_bytes"] for row in report["written"]}
    assert written["topic", "stock.events"] > 100
    assert written["table", "retail.sale_line"] > 50
    assert written["WAL", "Postgres"] > written["table", "retail.sale_line"]
