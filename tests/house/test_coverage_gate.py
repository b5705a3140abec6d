"""Coverage includes child processes that end late. 100 % means that no line is missing."""

from pathlib import Path

import pytest
from coverage import Coverage, CoverageData
from typing_extensions import override

from tests.coverage_gate import combined, percent


def measured(folder: Path, name: str, line: int) -> None:
    """Write the coverage file that the child process `name` leaves: one line of one module."""
    found = CoverageData(str(folder / "data"), suffix=name)
    found.add_lines({"module.py": [line]})
    found.write()


class LateChild(Coverage):
    """A run in which a child ends after the first listing of the files."""

    is_late = True

    @override
    def combine(self, *arguments, **options) -> None:
        super().combine(*arguments, **options)
        if self.is_late:
            self.is_late = False
            measured(Path(self.config.data_file).parent, "late", 3)


def lines(whole: Coverage) -> list[int]:
    return sorted(whole.get_data().lines("module.py") or ())


def test_combining_coverage_skips_a_file_that_is_renamed_meanwhile(tmp_path: Path) -> None:
    for line, name in enumerate(("one", "two"), 1):
        measured(tmp_path, name, line)
    (tmp_path / "data.vm.pid7.Xgone").symlink_to(tmp_path / "renamed meanwhile")

    whole = combined(Coverage(str(tmp_path / "data"), config_file=False), tmp_path)

    assert lines(whole) == [1, 2]


def test_coverage_of_a_child_process_that_ends_late_is_included(tmp_path: Path) -> None:
    measured(tmp_path, "early", 1)

    whole = combined(LateChild(str(tmp_path / "data"), config_file=False), tmp_path)

    assert lines(whole) == [1, 3]


@pytest.mark.parametrize(
    ("reached", "shown"), [(100.0, "100.0 %"), (99.999, "99.9 %"), (90.0, "90.0 %"), (0.0, "0.0 %")]
)
def test_a_percentage_is_rounded_down(reached: float, shown: str) -> None:
    assert percent(reached) == shown
