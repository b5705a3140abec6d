"""The archive put aside: asked for, without an archiver, and made again from the beginning."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from deploy.cli.main import app
from deploy.errors import StackError
from tests.analytics.histories import archived, generate

COMMAND = "inventory backfill rearchive --yes"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a home holds."""
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setattr("deploy.cli.backfill._HELD_S", 0.3)
    archived(tmp_path / "archive", generate(seed=1, records=40))
    return tmp_path / "archive"


def rearchive(*options: str) -> Result:
    return CliRunner().invoke(app, ["backfill", "rearchive", *options])


def refusal(*options: str) -> StackError:
    refused = rearchive(*options).exception
    assert isinstance(refused, StackError)
    return refused


def test_it_is_put_aside_and_begins_again_each_time(archive: Path) -> None:
    history = generate(seed=1, records=40)
    before = Manifest(archive).all_files()

    for number in (1, 2):
        done = rearchive("--yes")

        assert done.exit_code == 0, done.output
        aside = archive.parent / "former" / f"archive-{number}"
        assert Manifest(aside).all_files() == before
        assert Manifest(archive).all_files() == ()
        assert archived(archive, history).all_files() == before


def test_it_is_asked_for_and_there_is_something_to_put_aside(archive: Path) -> None:
    unasked = refusal()
    assert unasked.repair == COMMAND
    assert Manifest(archive).all_files()

    rearchive("--yes")

    assert "nothing is archived yet" in str(refusal("--yes"))


def test_an_archiver_that_goes_on_keeps_its_archive(archive: Path) -> None:
    with only_archiver(archive):
        refused = refusal("--yes")

    assert "an archiver goes on" in str(refused)
    assert refused.repair == f"inventory down && {COMMAND}"
    assert Manifest(archive).all_files()
