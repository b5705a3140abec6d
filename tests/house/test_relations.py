"""Statements outside `ledger` name only relations of `cdc.contracts.tables`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cdc.capture.source import TABLES
from cdc.contracts.tables import COLUMNS, FUNCTIONS, RELATIONS
from tests.house.sources import name, parsed, python_files

USERS = ("streams", "analytics", "webui", "bench", "deploy")
# The file js/app.js is no relation.
NAMED = re.compile(r"(?<![\w./])(?:retail|read_model|app)\.[a-z_]+")


def users() -> list[Path]:
    # Leave migrations out: they create the relations, and are never changed.
    return [path for path in python_files(*USERS) if "migrations" not in path.parts]


def docstrings(tree: ast.Module) -> set[ast.AST]:
    owners = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    first = [owner.body[0] for owner in owners if owner.body]
    return {line.value for line in first if isinstance(line, ast.Expr)}


def named(tree: ast.Module) -> Iterator[str]:
    """Yield the relations named in the module's strings, except in docstrings."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield from NAMED.findall(node.value)


def test_every_relation_in_an_sql_statement_is_in_the_contract() -> None:
    found = {
        f"{name(path)}: {relation}"
        for path in users()
        for relation in named(parsed(path))
        if relation not in RELATIONS | FUNCTIONS
    }

    assert sorted(found) == [], "add it to RELATIONS or FUNCTIONS of cdc/contracts/tables.py"


def test_the_contract_lists_only_what_is_used() -> None:
    used = {relation for path in users() for relation in named(parsed(path))}
    # Sinks, capture and verify build statements from these lists, so the sources lack the names.
    built = {*COLUMNS, *(f"retail.{table}" for table in TABLES), "retail.inbound"}

    assert sorted((RELATIONS | FUNCTIONS) - used - built) == []


def test_a_planted_relation_is_detected() -> None:
    planted = ast.parse('"""retail.one"""\nA = f"SELECT FROM app.two WHERE {B}"')

    assert [*named(planted)] == ["app.two"]
