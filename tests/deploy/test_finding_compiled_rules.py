"""Compiled rules are found by the hash of their sources and built only where possible."""

import os
import sysconfig
from pathlib import Path

import pytest

from deploy import compiled_rules
from deploy.doctor import machine
from deploy.errors import MissingPrerequisite, StackError
from deploy.stack.home import Home

pytestmark = pytest.mark.engines


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one line of rules."""
    found = tmp_path / "tree"
    (found / "inventory").mkdir(parents=True)
    (found / "inventory" / "__init__.py").touch()
    (found / "inventory" / "fold.py").write_text("RULE = 1\n")
    monkeypatch.setattr(compiled_rules, "ROOT", found)
    return found


def made(home: Path) -> Path:
    found = compiled_rules.directory(home)
    found.mkdir(parents=True)
    return found


def test_a_process_takes_the_sources_where_nothing_is_compiled(tree, home) -> None:
    assert compiled_rules.present(home) is None
    assert compiled_rules.environment(home) == {}
    assert compiled_rules.remove(home) is False
    assert machine.rules(Home(home)).found.endswith("runs the sources")


def test_a_process_takes_compiled_rules_before_the_tree(tree, home, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    compiled = made(home)

    found = compiled_rules.environment(home)

    assert compiled.parent == home
    assert found["PYTHONPATH"].split(os.pathsep) == [str(compiled), str(tree), "/somewhere"]
    assert found["PYTHONSAFEPATH"] == "1"  # otherwise Python searches the working directory first
    assert machine.rules(Home(home)).found.endswith("runs machine code")


def test_a_changed_line_leaves_compiled_rules_behind(tree: Path, home: Path) -> None:
    compiled = made(home)
    (tree / "inventory" / "fold.py").write_text("RULE = 2\n")
    changed, told = compiled_rules.present(home), machine.rules(Home(home))
    (tree / "inventory" / "fold.py").write_text("RULE = 1\n")

    assert changed is None
    assert (told.verdict, told.repair.partition(" &&")[0]) == ("warning", compiled_rules.COMPILE)
    assert compiled_rules.present(home) == compiled


def test_what_is_there_is_not_made_again_and_goes_when_asked(tree: Path, home: Path) -> None:
    compiled = made(home)

    assert compiled_rules.ensure(home) == compiled
    assert compiled_rules.remove(home) is True
    assert list(home.iterdir()) == []


def test_a_file_that_an_editor_has_open_is_no_source(tree: Path, home: Path) -> None:
    compiled = made(home)
    (tree / "inventory" / ".#fold.py").symlink_to("somebody@somewhere")

    assert compiled_rules.present(home) == compiled


def test_sources_that_cannot_be_read_end_no_supervisor(tree: Path, home: Path) -> None:
    made(home)
    (tree / "inventory" / "gone.py").symlink_to("nowhere")

    assert compiled_rules.environment(home) == {}


def test_without_the_compiler_or_the_headers_the_way_to_them_is_told(
    tree, home, monkeypatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(compiled_rules, "find_spec", lambda _: None)
        with pytest.raises(MissingPrerequisite, match="mypy is missing") as no_compiler:
            compiled_rules.ensure(home)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tree))
    with pytest.raises(MissingPrerequisite, match=r"Python\.h is missing") as no_header:
        compiled_rules.ensure(home)

    assert no_compiler.value.repair == "make install"
    assert "python3-dev" in no_header.value.repair


def test_a_home_that_a_path_list_cannot_name_is_refused(tree: Path, home: Path) -> None:
    with pytest.raises(StackError, match="can't be in a path with ':'"):
        compiled_rules.ensure(home / "a:b")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def rule() -> int:\n    return 'two'\n", r"fold\.py:2: error: Incompatible return"),
        ("raise RuntimeError('not today')\n", "RuntimeError: not today"),
    ],
)
def test_what_can_not_be_compiled_or_loaded_leaves_nothing_behind(
    tree, home, source: str, told: str
) -> None:
    (tree / "inventory" / "fold.py").write_text(source)

    with pytest.raises(StackError, match=told):
        compiled_rules.ensure(home)

    assert list(home.iterdir()) == []
