"""Properties of the Spark session of a recomputation, and the end of its job."""

from pathlib import Path
from threading import Event, Thread

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
def test_the_spark_ui_is_on_only_if_it_listens_on_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, address: str, shown: str
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", address)

    found = spark._properties(tmp_path, master)

    assert found["spark.ui.enabled"] == shown
    assert found["spark.ui.killEnabled"] == "false"
    assert found["spark.eventLog.enabled"] == "true"


class SlowContext:
    """A Spark context that submits a job only after the first request to cancel it."""

    def __init__(self) -> None:
        self._requested, self._cancelled = Event(), Event()

    def setJobGroup(self, _name: str, _text: str) -> None:  # noqa: N802 -- a name of Spark
        self._requested.wait()

    def cancelJobGroup(self, _name: str) -> None:  # noqa: N802 -- a name of Spark
        if self._requested.is_set():
            self._cancelled.set()
        self._requested.set()

    def parallelize(self, _units: object, _parts: int) -> "SlowContext":
        return self

    def map(self, _task: object) -> "SlowContext":
        return self

    def collect(self) -> list[None]:
        self._cancelled.wait()
        return []


def test_a_job_that_is_cancelled_before_it_is_submitted_ends() -> None:
    job = spark._Job(SlowContext(), [], spark._Task("results", "failure"))
    job.start()
    cancelling = Thread(target=job.cancel, daemon=True)

    cancelling.start()
    cancelling.join(10.0)

    assert not cancelling.is_alive()
