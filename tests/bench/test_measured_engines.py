"""`inventory bench backfill` runs each engine as a process: its result, or its error."""

import sys

import pytest

from bench.backfill.run import _measured
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
