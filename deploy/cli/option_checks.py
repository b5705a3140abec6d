"""Checks of option values. Each error names the option, its value and the expected form."""

import os
import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Final

from deploy.errors import StackError

LONGEST_S: Final = 86_400.0  # a day; no command waits longer


def check_int(option: str, value: int | None, *, least: int = 1, most: int | None = None) -> None:
    """Raise `StackError` for a whole number below `least` or above `most`.

    None is an omitted option and passes.

    Raises:
        StackError: the message names option, value and limit.
    """
    if value is not None and most is not None and not least <= value <= most:
        message = f"{option} {value}: expected {least} to {most}"
        raise StackError(message)
    if value is not None and value < least:
        message = f"{option} {value}: expected {least} or more"
        raise StackError(message)


def parse_ints(option: str, text: str, example: str) -> list[int]:
    """Return the numbers of a comma-separated list: [50000, 1000000] for "50000,1000000".

    Raises:
        StackError: a part is no whole number above 0. The message names option, value and
        `example`.
    """
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        message = f"{option} {text!r}: expected whole numbers above 0, such as {example}"
        raise StackError(message)
    return numbers


def parse_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return a map from key to value, from the texts KEY=VALUE of a repeated option.

    Raises:
        StackError: a text has no key or no `=`. The message names option, text and an example.
    """
    pairs = [text.partition("=") for text in texts]
    for text, (key, equals, _value) in zip(texts, pairs, strict=True):
        if not key or not equals:
            message = f"{option} {text!r}: expected KEY=VALUE, such as spark.ui.enabled=true"
            raise StackError(message)
    return {key: value for key, _equals, value in pairs}


def check_seconds(option: str, value: float | None, *, least: float = 0.0) -> None:
    """Raise `StackError` for a time below `least`, above a day, or NaN.

    None is an omitted option and passes.

    Raises:
        StackError: the message names option, value and range.
    """
    if value is not None and not least <= value <= LONGEST_S:
        message = f"{option} {value:g}: expected {least:g} to {LONGEST_S:g} seconds"
        raise StackError(message)


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    """Raise `StackError` for a value that is not in `known`.

    Raises:
        StackError: the message names option, value and every known value.
    """
    if value not in known:
        message = f"{option} {value!r}: expected {_choices(known)}"
        raise StackError(message)


def _choices(known: Sequence[str]) -> str:
    return " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"  # noqa: PLR2004 -- a pair


def interpreter(python: str) -> str:
    """Return the Python interpreter to start: `python`, or this process's own if `python` is "".

    A path becomes absolute, because the interpreter starts in the directory of another source tree.
    A name without a slash stays unchanged, and is looked up on PATH.
    """
    if not python:
        return sys.executable
    return os.path.abspath(python) if os.sep in python else python  # noqa: PTH100 -- a resolved link leaves its venv


def parse_finite(text: str) -> float | None:
    """Return the number in `text`, or None if it is no number or not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def check_retail_file(file: Path) -> None:
    """Raise `StackError` for a file from which no sales can be read.

    Call it before anything is started for this file.

    Raises:
        StackError: the message names the file, the problem and the expected form.
    """
    problem = _problem_of(file)
    if problem:
        message = f"FILE {str(file)!r} {problem}: expected a file in the UCI Online Retail format"
        raise StackError(message)


def content_of(file: Path) -> bytes:
    """Return the content of a file.

    Raises:
        StackError: the file can't be read, is no plain file, or is empty.
    """
    problem = _problem_of(file)
    if problem:
        message = f"{file} {problem}"
        raise StackError(message)
    return file.read_bytes()


def _problem_of(file: Path) -> str:
    try:
        if file.is_dir():
            return "is a directory"
        # Opening a pipe would wait for its writer, and a pipe can't be read twice.
        if file.exists() and not file.is_file():
            return "is no plain file"
        with file.open("rb") as stream:
            return "" if stream.read(1) else "is empty"
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"can't be read, {error.strerror}"
