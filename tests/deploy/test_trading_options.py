"""Errors on the command line name the wrong value and the expected form."""

import sys

import pytest

from bench.retailer.retailer import SIZES
from bench.retailer.scenarios import ALIASES, SCENARIOS
from deploy.cli import trading
from deploy.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--rate", "abc"), "--rate abc: expected a finite number above 0"),
        (("--rate", "inf"), "--rate inf: expected a finite number above 0"),
        (("--rate", "0"), "--rate 0: expected a finite number above 0"),
        (("--minutes", "nan"), "--minutes nan: expected a finite number of 0 or more"),
        (("--minutes=-1",), "--minutes -1: expected a finite number of 0 or more"),
        (("--patience", "soon"), "--patience soon: expected a finite number of 0 or more"),
        (("--scenario", "quiet"), "--scenario 'quiet': expected one of normal, black-friday"),
        (("--size", "tiny"), "--size 'tiny': expected demo or full"),
        (("--leave", "1001"), "--leave 1001: expected 0 to 1000"),
    ],
)
def test_a_wrong_option_is_named_with_the_expected_form(
    arguments: tuple[str, ...],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["inventory", "simulate", *arguments])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert told in " ".join(capsys.readouterr().err.split())


def test_the_simulate_command_offers_the_scenarios_and_sizes_of_the_simulator() -> None:
    assert tuple(SCENARIOS) == trading.SCENARIOS
    assert set(trading._FORMER_SCENARIOS) == set(ALIASES)
    assert set(trading._SIZES) < set(SIZES)
