"""`prune` deletes files that nothing reads. It is the repair if no other disk has room."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack import prune, room
from deploy.stack.home import Home

MEGABYTES = 3
AGAIN = "inventory down && inventory prune --yes && inventory up --detach"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path / "home")
    found.create()
    for name in ("former/generation-1/kafka", "former/archive-1", "archive"):
        (found.path / name).mkdir(parents=True, exist_ok=True)
        (found.path / name / "data").write_bytes(bytes(MEGABYTES << 20))
    found.log_of("web").write_text("now", encoding="utf-8")
    (found.logs / "web.log.1").write_text("before", encoding="utf-8")
    monkeypatch.setenv("INVENTORY_HOME", str(found.path))
    return found


def test_prune_deletes_only_former_data_and_only_with_yes(home: Home) -> None:
    asked = CliRunner().invoke(app, ["prune"])
    assert isinstance(asked.exception, StackError)
    assert asked.exception.repair == prune.PRUNE
    assert (home.path / "former" / "archive-1" / "data").exists()

    done = CliRunner().invoke(app, ["prune", "--yes"])

    assert done.exit_code == 0, done.output
    assert "deleted 6." in done.output
    left = sorted(
        str(path.relative_to(home.path)) for path in home.path.rglob("*") if path.is_file()
    )
    assert left == ["archive/data", "logs/web.log"]
    assert (home.path / "former" / "generation-1").is_dir()  # the next generation needs its number


def test_the_repair_of_a_full_disk_without_a_second_disk_is_prune(home: Home) -> None:
    assert room.repair(home, None, free=1 << 30) == AGAIN

    prune.prune(home)

    assert room.repair(home, None, free=0) == ""
