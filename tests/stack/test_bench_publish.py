"""`inventory bench publish` on a separate broker; the shared stack is not used."""

import json

import pytest

from tests.stack.running import run_inventory

pytestmark = pytest.mark.soak


def test_a_generated_log_is_archived_recomputed_and_published_with_every_key(tmp_path) -> None:
    result = run_inventory("bench", "publish", "--keys", "300", "--json", home=tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr
    steps = json.loads(result.stdout)["steps"]
    assert [(step["name"], step["count"]) for step in steps] == [
        ("archive", 900),
        ("recompute", 900),
        ("publish", 300),
    ]
