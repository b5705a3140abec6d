"""The first command of the README, and the class archives of `inventory fetch`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.artifacts.caches import cache_root
from deploy.artifacts.fetch import cache_name
from tests.stack.running import run_inventory


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    run_inventory("down", home=tmp_path / "home")


def test_the_demo_sells_a_unit_and_sees_it_on_the_page(home: Path) -> None:
    shown = run_inventory("demo", home=home)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "the page showed" in shown.stdout
    assert "login      buyer" in shown.stdout
    assert run_inventory("reset", home=home).returncode == 1
    assert run_inventory("reset", "--yes", home=home).returncode == 0
    assert not home.exists() or list(home.iterdir()) == []


@pytest.mark.soak  # `make test` begins with `inventory fetch`, which makes them on a new machine
def test_archives_of_classes_are_made_where_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = cache_root() / cache_name()
    copy = tmp_path / "cache" / cache_name()
    shutil.copytree(fetched, copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("cds-*"))
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path / "cache"))

    said = run_inventory("fetch", home=tmp_path / "home")

    assert said.returncode == 0, said.stderr
    assert sorted(path.name for path in copy.glob("cds-*/*")) == ["broker.jsa", "connect.jsa"]
