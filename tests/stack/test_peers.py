"""`inventory bench peers` on a broker and a Postgres of its own; the shared stack is not used."""

import json

import pytest

from tests.stack.running import run_inventory

pytestmark = pytest.mark.soak

QUICK = "engine,plain,sql"


def test_quick_peers_of_the_bench_count_every_record_correctly(tmp_path) -> None:
    result = run_inventory(
        *("bench", "peers", "--records", "20000", "--keys", "2000", "--peers", QUICK),
        *("--rounds", "1", "--timeout", "600", "--json"),
        home=tmp_path,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    trials = {trial["peer"]: trial for trial in json.loads(result.stdout)["trials"]}
    judged = {name: (trial["differing"], trial["problem"]) for name, trial in trials.items()}
    assert judged == dict.fromkeys(QUICK.split(","), (0, ""))
    assert all(trial["figures"]["records"] == 20_000 for trial in trials.values())
    assert trials["engine"]["restore_s"] is not None
