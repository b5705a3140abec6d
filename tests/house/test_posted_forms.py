"""Pages read posted fields with forms: `request.POST` is only handed to a form."""

import ast
from collections.abc import Iterator

from tests.house.sources import name, parsed, python_files

# Middleware that checks every request, before a view chooses a form.
EXCEPTIONS = {
    "webui/accounts/gate.py",  # refuses a `location` of a foreign store
    "webui/config/zero_bytes.py",  # refuses zero characters in any field
}


def reads_of_post(tree: ast.Module) -> Iterator[int]:
    """Yield the line of every `….POST` that isn't an argument of a call of a class `…Form`."""
    handed = {
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Form")
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "POST" and node not in handed:
            yield node.lineno


def test_only_forms_read_posted_fields() -> None:
    found = [
        f"{name(path)}:{line}"
        for path in python_files("webui")
        if name(path) not in EXCEPTIONS
        for line in reads_of_post(parsed(path))
    ]

    assert found == []


def test_every_exception_still_reads_posted_fields() -> None:
    reading = {name(path) for path in python_files("webui") if [*reads_of_post(parsed(path))]}

    assert reading == EXCEPTIONS


def test_a_planted_read_would_be_found() -> None:
    planted = """
form = RouteForm(request.POST)
units = request.POST["units"]
roles = self.request.POST.getlist("roles")
typed = dict(request.POST)
"""

    assert sorted(reads_of_post(ast.parse(planted))) == [3, 4, 5]
