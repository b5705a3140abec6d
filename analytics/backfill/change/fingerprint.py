"""A hash of the rules without comments and docstrings. Two trees with equal code have equal hashes.

Changed rules under an unchanged revision number would mix two logics in one changelog. So
`backfill run` refuses such rules, except with `--what-if`: that run can't be published.
"""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analytics.backfill.change.trees import REVISION, revision_of

# Explanations and reports change no decision, so the hash leaves them out. The hash also leaves out
# the module with the revision number, because that number is compared separately.
_NO_RULES: Final = ("inventory/explain/", "inventory/reports/")
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def fingerprint(tree: Path) -> str:
    """Return the hash of the tree's rules: all modules of `inventory` that affect a decision."""
    digest = hashlib.sha256()
    for name, source in _rules(tree):
        digest.update(name.encode())
        digest.update(ast.dump(_without_docstrings(ast.parse(source))).encode())
    return digest.hexdigest()


def same_number_other_rules(tree: Path, own: Path) -> bool:
    """Return True if the tree changes rules of `own` and keeps the revision number of `own`."""
    return revision_of(tree) == revision_of(own) and fingerprint(tree) != fingerprint(own)


def _rules(tree: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted((tree / "inventory").rglob("*.py")):
        name = path.relative_to(tree).as_posix()
        if path.relative_to(tree) != REVISION and not name.startswith(_NO_RULES):
            yield name, path.read_bytes()


def _without_docstrings(module: ast.Module) -> ast.Module:
    for node in ast.walk(module):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return module
