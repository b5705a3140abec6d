"""The doctor without a patient: a machine's rows, and what to type where nothing runs."""

import json

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.doctor.checks import exit_code
from deploy.doctor.row import Row, judge


def test_without_a_stack_the_machine_is_checked_and_the_way_to_start_is_named(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    told = CliRunner().invoke(app, ["doctor", "--json"])
    shown = CliRunner().invoke(app, ["doctor"])

    rows = {row["name"]: row for row in json.loads(told.stdout)}
    assert told.exit_code == shown.exit_code in {1, 2}
    assert rows["stack"]["verdict"] == "warning"
    assert "inventory up" in rows["stack"]["repair"]
    assert {"python", "java", "memory", "disk"} <= {name.lower() for name in rows}


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [((), 0), (("ok",), 0), (("ok", "warning"), 1), (("warning", "failure", "ok"), 2)],
)
def test_the_worst_row_is_the_exit_code(verdicts, code) -> None:
    assert exit_code([Row("row", verdict, "") for verdict in verdicts]) == code


def test_a_row_that_is_not_well_carries_its_repair() -> None:
    assert judge("disk", well=True, found="9 GB", repair="make room") == Row("disk", "ok", "9 GB")
    assert judge("disk", well=False, found="0 GB", repair="make room").mark == "✘"
    assert judge("disk", well=False, found="1 GB", repair="make room", mild=True).mark == "!"
