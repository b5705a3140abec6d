"""The project's Python files, parsed once."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from deploy.stack.home import PROJECT

PACKAGES = ("inventory", "cdc", "ledger", "streams", "analytics", "webui", "bench", "deploy")
PURE = ("inventory",)


@cache
def python_files(*tops: str) -> tuple[Path, ...]:
    found = (path for top in tops for path in (PROJECT / top).rglob("*.py"))
    return tuple(sorted(path for path in found if "__pycache__" not in path.parts))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def committed_files() -> tuple[str, ...]:
    """Return the names of all committed files. Outside a clone, skip the test."""
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607 -- any git
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if not listed:
        pytest.skip("not a git clone")
    return tuple(listed)


def name(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
