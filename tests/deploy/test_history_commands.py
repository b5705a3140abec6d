"""Output of the commands about history, without a stack."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from analytics.backfill.plan import UnknownRun, ends_of_run, make_plan, save
from deploy.cli.main import app
from deploy.cli.reports import rows
from tests.analytics.histories import PARTITIONS, archived, generate


def test_a_report_is_printed_without_any_nested_value() -> None:
    found = {
        "ok": True,
        "archive": {"files": 2, "next_offsets": {"0": 7, "1": 9}},
        "runs": [{"run": "local-1", "units": 3}],
        "names": ["a", "b"],
        "nothing": [],
    }

    assert list(rows(found)) == [
        ("ok", True),
        ("archive, files", 2),
        ("archive, next_offsets, 0", 7),
        ("archive, next_offsets, 1", 9),
        ("runs", "run local-1, units 3"),
        ("names", "a"),
        ("names", "b"),
    ]


def test_fold_without_records_prints_only_a_note() -> None:
    result = CliRunner().invoke(app, ["fold"], input="\n")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "no record on standard input" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [(["explain"], "SKU"), (["explain", "S"], "--location"), (["sales"], "SKU")],
)
def test_a_missing_argument_is_named_as_it_is_written(arguments: list[str], missing: str) -> None:
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert f"'{missing}'" in result.stderr


def test_an_unknown_run_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    manifest = archived(tmp_path / "archive", generate(seed=3, records=40))
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    plan = make_plan(manifest, engine="local", ends=ends)
    save(plan, tmp_path / "runs")

    with pytest.raises(UnknownRun, match=f"no run 'x': expected 'last', .* known runs: {plan.run}"):
        ends_of_run(tmp_path / "runs", "x")
    with pytest.raises(UnknownRun, match="known runs: none yet"):
        ends_of_run(tmp_path / "no-runs", "last")
    assert (
        ends_of_run(tmp_path / "runs", "last") == ends_of_run(tmp_path / "runs", plan.run) == ends
    )
