"""`inventory bench backfill` runs each engine as a process and reads its result or error."""

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from bench.backfill import run
from bench.backfill.run import Plan, Size, _measured
from bench.backfill.usage import Cost
from bench.errors import BenchFailed

# A Python that is killed if it hangs. Its program begins with more text than a pipe holds.
PYTHON = ("timeout", "--signal", "KILL", "60", sys.executable, "-c")
LOUD = "import sys; sys.stderr.write('x' * 200_000); "


def test_an_engine_that_prints_many_warnings_is_measured_to_its_end() -> None:
    result, _cost = _measured([*PYTHON, f"{LOUD}print('{{\"records\": 5}}')"], ())

    assert result == {"records": 5}


def test_a_failed_engine_is_reported_with_the_end_of_its_error() -> None:
    with pytest.raises(BenchFailed, match=r"exit 1: x{700,}out of memory$"):
        _measured([*PYTHON, f"{LOUD}sys.exit('out of memory')"], ())


def test_a_size_that_is_measured_twice_is_computed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories: list[str] = []

    def measured(command: list[str], _pids: object) -> tuple[dict[str, Any], Cost]:
        directories.append(command[-1])
        return {"records": 40, "digest": "d", "seconds": 1.0}, Cost(1.0, 1.0, 1, 1)

    def no_cluster(_workers: int) -> NoReturn:
        raise AssertionError

    case = {"decode_us": 1, "dedupe_us": 1, "fold_us": 1, "whole_records_per_s": 1}
    monkeypatch.setattr(run, "_measured", measured)
    monkeypatch.setattr(run, "_finished", lambda _command: json.dumps({"cases": [case]}))
    size = Size(records=40, keys=10, seed=1)
    plan = Plan(
        [size, size], ["local"], with_rivals=False, scratch=tmp_path / "runs", archive=tmp_path
    )

    run.run(plan, no_cluster, lambda _text: None)

    assert len(set(directories)) == 2
