"""Every repair that is printed changes something: none only looks, and none names the doctor."""

import ast
from collections.abc import Iterator

from tests.house.sources import PACKAGES, name, parsed, python_files

LOOKING = ("inventory doctor", "inventory status", "inventory logs")
# Errors of a command, not states of the stack: the log says what the command met.
MAY_LOOK = {
    "deploy/stack/control.py",
    "deploy/stack/bootstrap.py",
    "deploy/stack/fleet.py",
    "deploy/stack/proof.py",
    "deploy/cli/main.py",
    "deploy/cli/records.py",
}


def texts() -> Iterator[tuple[str, str]]:
    """Every string in the sources that is no docstring, with its file."""
    for package in PACKAGES:
        for path in python_files(package):
            tree = parsed(path)
            documented = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
                if is_text and id(node) not in documented:
                    yield name(path), str(node.value)


def test_no_message_sends_its_reader_to_the_doctor() -> None:
    assert [(file, text) for file, text in texts() if "inventory doctor" in text] == []


def test_no_row_of_the_doctor_is_repaired_by_looking() -> None:
    rows = [
        (file, text)
        for file, text in texts()
        if file.startswith(("deploy/doctor/", "streams/")) and text.startswith(LOOKING)
    ]
    assert rows == []


def test_only_errors_of_commands_name_a_command_that_looks() -> None:
    found = {file for file, text in texts() if text.startswith(LOOKING)}

    assert found <= MAY_LOOK
