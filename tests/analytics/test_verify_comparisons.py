"""`verify` repeats its comparison while a difference is uncertain and time remains."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from analytics.verification.barrier import NotCaughtUp
from analytics.verification.comparison import Comparer, Comparison
from analytics.verification.differences import Found
from analytics.verification.rejections import Rejections
from analytics.verification.reorders import Reorders
from analytics.verify import VerifyReport, _repeated, _report

SURE, UNSURE = "L|SURE", "L|UNSURE"


def a_look(*keys: str, missing: str | None = None) -> Comparison:
    found = Found({key: {"key": key} for key in keys}, certain={*({SURE} & set(keys))})
    needs = () if missing is None else ({"key": missing, "reorder_id": "R"},)
    return Comparison(0, found, {}, Rejections(0, (), (), 0, {}), Reorders(0, (), needs))


@dataclass
class Scripted:
    """Comparisons with prepared results. After the last one the pipeline lags."""

    comparisons: list[Comparison]
    asked: list[list[str] | None] = field(default_factory=list)

    def compare(self, only: list[str] | None = None) -> Comparison:
        self.asked.append(only)
        if len(self.asked) > len(self.comparisons):
            raise NotCaughtUp({"heartbeats": {"partition 0": "behind"}}, 1.0)
        return self.comparisons[len(self.asked) - 1]


def reported(script: Scripted) -> VerifyReport:
    comparisons, undecided = _repeated(cast("Comparer", script))
    return _report(comparisons, undecided, None, 0.0)


def keys_of(report: VerifyReport) -> list[str]:
    return [entry["key"] for entry in report.keys]


def test_a_certain_difference_needs_no_second_look() -> None:
    report = reported(Scripted([a_look(SURE)]))

    assert (report.exit_code, report.comparisons, keys_of(report)) == (1, 1, [SURE])


def test_a_difference_that_is_gone_in_a_later_comparison_is_resolved() -> None:
    script = Scripted([a_look(UNSURE), a_look()])

    report = reported(script)

    assert (report.exit_code, report.resolved, script.asked) == (0, 1, [None, [UNSURE]])
    assert report.as_json()["keys_equal_in_a_later_comparison"] == 1


def test_a_difference_in_every_comparison_is_reported() -> None:
    report = reported(Scripted([a_look(UNSURE), a_look(UNSURE), a_look(UNSURE)]))

    assert (report.exit_code, report.comparisons, keys_of(report)) == (1, 3, [UNSURE])


def test_a_certain_difference_is_reported_if_the_next_comparison_is_too_late() -> None:
    report = reported(Scripted([a_look(SURE, UNSURE, missing="L|NEED")]))

    assert (report.exit_code, keys_of(report)) == (1, [SURE])
    assert report.undecided == ("L|NEED", UNSURE)
    assert not report.reorders.missing
    assert report.as_json()["keys_undecided"] == ["L|NEED", UNSURE]


def test_undecided_keys_are_named_if_the_next_comparison_is_too_late() -> None:
    with pytest.raises(NotCaughtUp) as caught:
        reported(Scripted([a_look(UNSURE)]))

    assert caught.value.behind["keys undecided"] == [UNSURE]
    assert caught.value.behind["heartbeats"]
