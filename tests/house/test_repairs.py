"""Repair commands change something. Only a failed command's message may name one that inspects."""

import ast
import re
from collections.abc import Iterator
from itertools import combinations

from deploy.doctor.failures import Failure
from deploy.stack.home import PROJECT
from streams.exit_codes import ExitCode
from tests.house.sources import PACKAGES, name, parsed, python_files
from tests.stack.test_repairs import CASES, CODES, CODES_NOT_CAUSED, ELSEWHERE, NOT_CAUSED

LOOKING = ("inventory doctor", "inventory status", "inventory logs")
# Modules whose messages may print `inventory logs`: a command failed, and its error is in the log.
MAY_LOOK = {
    "deploy/stack/daemon.py",
    "deploy/stack/bootstrap.py",
    "deploy/stack/service_commands.py",
    "deploy/stack/proof.py",
    "deploy/cli/main.py",
    "deploy/cli/records.py",
}


def texts() -> Iterator[tuple[str, str]]:
    """Yield every string in the sources that is not a docstring, with its file."""
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
                match node:
                    case ast.Constant(value=str(text)) if id(node) not in documented:
                        yield name(path), text
                    case _:
                        pass


def test_no_message_sends_its_reader_to_the_doctor() -> None:
    named = {file for file, text in texts() if "inventory doctor" in text}

    assert named <= {"deploy/reference.py"}  # the text of a page about exit codes


def test_no_doctor_row_has_a_repair_that_only_inspects() -> None:
    rows = [
        (file, text)
        for file, text in texts()
        if file.startswith(("deploy/doctor/", "streams/")) and text.startswith(LOOKING)
    ]
    assert rows == []


def test_only_listed_modules_name_a_command_that_only_inspects() -> None:
    found = {file for file, text in texts() if text.startswith(LOOKING)}

    assert found <= MAY_LOOK


def test_every_doctor_failure_is_caused_by_a_test_or_listed_as_an_exception() -> None:
    caused = frozenset().union(*CASES.values())
    parts = (caused, frozenset(ELSEWHERE), frozenset(NOT_CAUSED))

    assert frozenset().union(*parts) == frozenset(Failure)
    assert [one & other for one, other in combinations(parts, 2)] == [frozenset()] * 3
    for place in ELSEWHERE.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (PROJECT / file).read_text(encoding="utf-8")


def test_every_worker_exit_code_is_caused_by_a_test_or_listed_as_an_exception() -> None:
    assert CODES.keys() <= CASES.keys()
    assert sorted([*CODES.values(), *CODES_NOT_CAUSED]) == sorted(ExitCode)


def test_no_printed_command_has_a_name_that_its_reader_must_replace() -> None:
    """An operator pastes the command. A message may leave a choice to them, a command may not."""
    invented = re.compile(
        r"/a/|/larger/|/path/to|(inventory|--\w+) [^#]*\b(?!INVENTORY_)[A-Z][A-Z_]{3,}\b(?!=)"
    )

    found = [(file, text) for file, text in texts() if invented.search(text)]

    assert found == []


def test_no_message_advises_to_delete_the_data_of_the_stack() -> None:
    """`make clean` would delete the data too, because it calls `inventory reset --yes`."""
    found = {(file, text) for file, text in texts() if "make clean" in text}

    assert found == set()


def calls_and_attributes() -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of the doctor's sources, with its file."""
    for path in python_files("deploy/doctor"):
        for node in ast.walk(parsed(path)):
            yield name(path), node


def test_a_row_of_the_doctor_that_is_not_ok_comes_from_the_table() -> None:
    made = {
        file
        for file, node in calls_and_attributes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Row"
    }
    used = {
        node.attr
        for file, node in calls_and_attributes()
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Failure"
    }

    assert made == {"deploy/doctor/row.py", "deploy/doctor/failures.py"}
    assert used == {failure.name for failure in Failure}
