"""The help of `inventory backfill` lists all commands in the order of work."""

import re

from typer.testing import CliRunner

from deploy.cli.backfill_group import PANELS, backfill
from deploy.cli.main import app


def test_each_command_has_its_place_in_one_panel() -> None:
    placed = [name for names in PANELS.values() for name in names]

    registered = {one.callback.__name__ for one in backfill.registered_commands if one.callback}

    assert sorted(placed) == sorted(registered)


def test_the_help_shows_panels_and_commands_in_the_order_of_work() -> None:
    shown = CliRunner().invoke(app, ["backfill", "--help"], env={"COLUMNS": "120"}).stdout

    panels = re.findall(r"^╭─ (\w+) ", shown, re.MULTILINE)
    assert panels == ["Options", *PANELS]
    commands = re.findall(r"^│ ([a-z]\w+) ", shown, re.MULTILINE)
    assert commands == [name for names in PANELS.values() for name in names]
