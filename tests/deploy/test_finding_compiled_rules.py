"""Compiled rules: found by the content of the sources, and made only where they can be."""

import os
import sysconfig
from pathlib import Path

import pytest

from deploy import compiled_rules
from deploy.errors import MissingPrerequisite, StackError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cache"
    monkeypatch.setenv("INVENTORY_CACHE", str(found))
    return found


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose rules are one line."""
    found = tmp_path / "tree"
    (found / "inventory").mkdir(parents=True)
    (found / "inventory" / "fold.py").write_text("RULE = 1\n")
    monkeypatch.setattr(compiled_rules, "ROOT", found)
    return found


def made() -> Path:
    found = compiled_rules.directory()
    found.mkdir(parents=True)
    return found


def test_a_process_takes_the_sources_where_nothing_is_compiled(tree: Path) -> None:
    assert compiled_rules.present() is None
    assert compiled_rules.environment() == {}
    assert compiled_rules.remove() is False


def test_a_process_takes_compiled_rules_before_the_tree(tree, cache, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    compiled = made()

    found = compiled_rules.environment()

    assert compiled.parent == cache
    assert found["PYTHONPATH"].split(os.pathsep) == [str(compiled), str(tree), "/somewhere"]
    assert found["PYTHONSAFEPATH"] == "1"  # or the working directory would come first


def test_a_changed_line_leaves_compiled_rules_behind(tree: Path) -> None:
    compiled = made()
    (tree / "inventory" / "fold.py").write_text("RULE = 2\n")
    changed = compiled_rules.present()
    (tree / "inventory" / "fold.py").write_text("RULE = 1\n")

    assert changed is None
    assert compiled_rules.present() == compiled


def test_what_is_there_is_not_made_again_and_goes_when_asked(tree: Path) -> None:
    compiled = made()

    assert compiled_rules.ensure() == compiled
    assert compiled_rules.remove() is True
    assert not compiled.exists()


def test_without_the_compiler_or_the_headers_the_way_to_them_is_told(tree, monkeypatch) -> None:
    monkeypatch.setattr(compiled_rules, "find_spec", lambda _: None)
    with pytest.raises(MissingPrerequisite, match="mypy is missing") as no_compiler:
        compiled_rules.ensure()
    monkeypatch.undo()
    monkeypatch.setattr(compiled_rules, "ROOT", tree)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tree))
    with pytest.raises(MissingPrerequisite, match=r"Python\.h is missing") as no_header:
        compiled_rules.ensure()

    assert no_compiler.value.repair == "make install"
    assert "python3-dev" in no_header.value.repair


def test_a_source_that_the_compiler_refuses_leaves_nothing_behind(tree, cache) -> None:
    (tree / "inventory" / "fold.py").write_text("def rule() -> int:\n    return 'two'\n")

    with pytest.raises(StackError, match=r"fold\.py:2: error: Incompatible return value"):
        compiled_rules.ensure()

    assert list(cache.iterdir()) == []
