"""`inventory fold`: output and exit codes for a history file."""

import json

from typer.testing import CliRunner

from deploy.cli.main import app

SALE = {
    "offset": 0,
    "table": "sale_line",
    "op": "c",
    "key": "LEEDS|SKU-1",
    "before": None,
    "after": {
        "id": 1,
        "inv_key": "LEEDS|SKU-1",
        "location": "LEEDS",
        "sku": "SKU-1",
        "recorded_at": 1_760_000_000_000_000,
        "source": "till",
        "source_ref": "1",
        "quantity_units": 2,
        "amount_minor": 1998,
        "occurred_at": 1_760_000_000_000_000,
    },
    "lsn": 1,
    "commit_us": 1_760_000_000_000_000,
}


def test_fold_prints_one_verdict_per_record_and_one_state_per_key() -> None:
    result = CliRunner().invoke(app, ["fold"], input=json.dumps(SALE) + "\n")

    verdict, state = (json.loads(line) for line in result.stdout.splitlines())
    assert result.exit_code == 0
    assert verdict == {"offset": 0, "verdict": "applied", "late": [], "outputs": []}
    assert state["state"]["on_hand"] == -2


def test_bad_json_ends_with_its_line_number_and_exit_code_two() -> None:
    result = CliRunner().invoke(app, ["fold"], input=json.dumps(SALE) + "\n{oops\n")

    assert result.exit_code == 2
    assert "line 2" in result.stderr


def test_a_line_that_is_no_utf_8_ends_with_its_number_and_exit_code_two() -> None:
    content = json.dumps(SALE).encode()

    result = CliRunner().invoke(
        app, ["fold"], input=content + b"\n" + content.replace(b"LEEDS", b"L\xc9EDS")
    )

    assert result.exit_code == 2
    assert result.stderr == "error: line 2: not UTF-8: invalid continuation byte\n"


def test_an_unknown_field_ends_with_its_name_and_exit_code_two() -> None:
    result = CliRunner().invoke(app, ["fold"], input=json.dumps({**SALE, "colour": 1}) + "\n")

    assert result.exit_code == 2
    assert "colour" in result.stderr
