"""A process of a standalone Spark cluster that does not start in time, or ends."""

from pathlib import Path

import pytest

from deploy import spark_cluster
from deploy.errors import StackError


@pytest.mark.parametrize(
    ("script", "told", "repair"),
    [
        ("exec sleep 60", "Spark's master was not ready after 1 s; its log has: starting", "busy"),
        ("exit 3", "Spark's master ended with exit code 3; its log has: starting", "make install"),
    ],
)
def test_a_slow_process_is_not_taken_for_a_broken_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str, repair: str
) -> None:
    command = tmp_path / "spark" / "bin" / "spark-class"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho starting\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setattr(spark_cluster, "_spark_home", lambda: tmp_path / "spark")
    monkeypatch.setattr(spark_cluster, "_READY_S", 1.0)

    with (
        pytest.raises(StackError, match=told) as refused,
        spark_cluster.standalone(tmp_path / "cluster"),
    ):
        pass

    assert repair in refused.value.repair
