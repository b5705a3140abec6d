"""Branch coverage of a test run with its child processes, and a minimum per package.

`pytest --gates rules` (`make check`) measures the rules and contracts only, `--gates all`
(`make soak`) everything. The measurement is a part of pytest instead of `coverage run` around it.
So the report is there before pytest's summary, and each run has its own files. If several processes
share the tests, each one measures its own part. The process that started the others judges the
total.

Generated cases, simulations and comparisons with the second model are not measured: the result must
not depend on a random draw, and tracing lines makes them three to ten times slower. Each defect
that they find gets a separate test.
"""

import io
import math
import os
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Self

import pytest
from coverage import Coverage
from coverage.exceptions import CoverageWarning
from typing_extensions import override

PROJECT = Path(__file__).resolve().parents[1]
RULES = {"inventory": 100.0, "cdc/contracts": 100.0}
# Minimums in percent. Never lower them.
OTHERS = dict.fromkeys(("cdc", "ledger", "streams", "analytics", "webui", "bench", "deploy"), 90.0)
GATES = {"rules": RULES, "all": RULES | OTHERS}
COMPARISONS = (PROJECT / "tests" / "oracle", PROJECT / "tests" / "simulation")
# These tests reach every line of the rules. The gate `rules` doesn't measure other tests, which
# would only run the same lines again.
OF_RULES = tuple(PROJECT / "tests" / name for name in ("inventory", "cdc", "regressions", "golden"))

# The tests that count for each gate. A failed gate prints this text.
COUNTED = {
    "rules": f"Only tests with fixed values count, in {', '.join(d.name for d in OF_RULES)}.\n",
    "all": "Only tests with fixed values count, in every folder but "
    f"{' and '.join(d.name for d in COMPARISONS)}.\n",
}


def is_measured(item: pytest.Item, gate: str) -> bool:
    """Return True if the lines that the test reaches count for this gate."""
    is_needed = gate != "rules" or any(map(item.path.is_relative_to, OF_RULES))
    return is_needed and not is_generated(item)


def is_generated(item: pytest.Item) -> bool:
    """Return True if drawn values or very many cases decide which lines the test reaches."""
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    marked = item.get_closest_marker("generated") is not None
    return drawn or marked or item.path.parent in COMPARISONS


def percent(reached: float) -> str:
    """Return a percentage rounded down, so that 100.0 means that no line or branch is missing."""
    return f"{math.floor(reached * 10) / 10:.1f} %"


class Share:
    """Coverage of one of several processes, from its start to the end of its last test."""

    def __init__(self, running: Coverage, gate: str) -> None:
        self._running = running
        self._gate = gate

    @classmethod
    def of_this_process(cls, gate: str) -> Self:
        """Return the measurement that started with this process, a child of a measured one."""
        running = Coverage.current()
        assert running is not None, "this process was started without a measurement"
        if gate == "rules":
            # Tests of the rules start no processes. To save time, don't measure the processes that
            # other tests start.
            os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        return cls(running, gate)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        if is_measured(item, self._gate):
            return (yield)
        self._running.stop()
        try:
            return (yield)
        finally:
            self._running.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:  # noqa: ARG002 -- read by the gate
        """Save the measurement of this process."""
        self.keep()

    def keep(self) -> None:
        """Write what this process has measured to a file of its own."""
        self._running.stop()
        self._running.save()


def combined(whole: Coverage, folder: Path) -> Coverage:
    """Return `whole` with the measurements of all processes from the files in `folder`.

    Read the folder again until a pass finds no new file. A child process that ends meanwhile
    renames its file, and coverage warns that the file is gone. The next pass reads the renamed
    file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        taking = True
        while taking:
            before = sorted(folder.iterdir())
            whole.combine()
            taking = sorted(folder.iterdir()) != before
    return whole


class CoverageGate(Share):
    """Measure from pytest's start to the last test's end, then compare with the minimums."""

    def __init__(self, gate: str) -> None:
        self._gates = GATES[gate]
        self._files = tempfile.TemporaryDirectory(prefix="coverage-", ignore_cleanup_errors=True)
        super().__init__(self._coverage(), gate)
        self._report = ""
        self._failed: list[str] = []
        self._running.start()

    def _coverage(self) -> Coverage:
        return Coverage(
            data_file=str(Path(self._files.name, "data")),
            config_file=str(PROJECT / "pyproject.toml"),
            source=[str(PROJECT / package) for package in self._gates],
        )

    @override
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Combine the measurements of all processes and compare them with the minimums."""
        self.keep()
        whole = combined(self._coverage(), Path(self._files.name))
        self._report = "".join(self._compared(whole, *gate) for gate in self._gates.items())
        self._files.cleanup()
        if self._failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _compared(self, whole: Coverage, package: str, gate: float) -> str:
        missing = io.StringIO()
        reached = whole.report(
            include=[f"{PROJECT}/{package}/*"], show_missing=True, skip_covered=True, file=missing
        )
        line = f"{package}: {percent(reached)} of lines and branches, gate {gate:.0f} %\n"
        if reached >= gate:
            return line
        self._failed.append(package)
        return f"{line}{COUNTED[self._gate]}{missing.getvalue()}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        failed = f"below its gate: {', '.join(self._failed)}" if self._failed else "above its gate"
        terminalreporter.section(f"branch coverage: {failed}", red=bool(self._failed))
        terminalreporter.write(self._report)
