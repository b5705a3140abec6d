"""A context manager of the tests cleans up after a failed block, too.

Without `finally`, a failed test leaves its server behind. The server's thread then reads a closed
socket in a loop, until the test run ends.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise

from tests.house.sources import functions, name, parsed, python_files

MANAGERS = {"contextmanager", "asynccontextmanager"}


def unprotected(tree: ast.Module) -> Iterator[int]:
    """Yield the line of each statement that a context manager skips if its block fails."""
    for function in functions(tree):
        if {ast.unparse(one) for one in function.decorator_list} & MANAGERS:
            for node in ast.walk(function):
                yield from after_a_yield(getattr(node, "body", None))


def after_a_yield(body: object) -> Iterator[int]:
    statements = body if isinstance(body, list) else []
    for former, after in pairwise(statements):
        is_yield = isinstance(former, ast.Expr) and isinstance(former.value, ast.Yield)
        if is_yield and not isinstance(after, ast.Return):
            yield after.lineno


def test_a_statement_after_the_yield_is_found_unless_it_is_in_finally() -> None:
    head = "@contextmanager\ndef managed():\n"

    assert list(unprotected(ast.parse(f"{head} yield 1\n close()"))) == [4]
    assert list(unprotected(ast.parse(f"{head} try:\n  yield 1\n finally:\n  close()"))) == []


def test_each_context_manager_cleans_up_in_finally() -> None:
    found = [
        f"{name(path)}:{line}"
        for path in python_files("tests")
        for line in unprotected(parsed(path))
    ]

    assert found == []
