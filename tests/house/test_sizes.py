"""Size limits of functions and modules."""

from tests.house.sources import PACKAGES, functions, name, parsed, python_files

LONGEST_FUNCTION = 50
LONGEST_MODULE = 400


def test_functions_are_short() -> None:
    too_long = [
        f"{name(path)}:{function.lineno} {function.name} has {length} lines"
        for path in python_files(*PACKAGES, "tests")
        if "migrations" not in path.parts
        for function in functions(parsed(path))
        if (length := (function.end_lineno or 0) - function.lineno + 1) > LONGEST_FUNCTION
    ]

    assert too_long == []


def test_modules_are_short() -> None:
    too_long = [
        f"{name(path)} has {length} lines"
        for path in python_files(*PACKAGES, "tests")
        if (length := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    ]

    assert too_long == []
