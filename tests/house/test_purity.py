"""The package `inventory` computes with integers and gives the same result in every process."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.sources import PURE, name, parsed, python_files

FORBIDDEN_NAMES = {"float", "hash"}


def offences(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=float() | complex()):
                yield f"{node.lineno} literal {node.value!r}"
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                yield f"{node.lineno} true division"
            case ast.Name(id=found) if found in FORBIDDEN_NAMES:
                yield f"{node.lineno} {found}"
            case ast.For(iter=ast.Set()) | ast.comprehension(iter=ast.Set()):
                yield "iteration over a set"
            case _:
                pass


def test_the_inventory_package_uses_no_floats_hashes_or_set_iteration() -> None:
    found = [
        f"{name(path)}:{offence}"
        for path in python_files(*PURE)
        for offence in offences(parsed(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    "planted", ["x = 0.5", "x = 1 / 2", "x /= 2", "x = hash(y)", "for x in {1, 2}: pass"]
)
def test_each_offence_would_be_found(planted: str) -> None:
    assert list(offences(ast.parse(planted)))
