"""What a person gave an option, held to what it takes: a refusal names option, value and form."""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from deploy.errors import StackError

LONGEST_S: Final = 86_400.0  # a day; nothing here is waited for longer


def whole(option: str, value: int | None, *, least: int = 1) -> None:
    """Refuse a whole number below `least`; None is an option that was left out.

    Raises:
        StackError: naming option, value and least value.
    """
    if value is not None and value < least:
        message = f"{option} {value}: expected {least} or more"
        raise StackError(message)


def seconds(option: str, value: float | None, *, least: float = 0.0) -> None:
    """Refuse a time below `least`, above a day, and what is none; None was left out.

    Raises:
        StackError: naming option, value and range.
    """
    if value is not None and not least <= value <= LONGEST_S:
        message = f"{option} {value:g}: expected {least:g} to {LONGEST_S:g} seconds"
        raise StackError(message)


def one_of(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse what is not among `known`.

    Raises:
        StackError: naming option, value and every known one.
    """
    if value not in known:
        message = f"{option} {value!r}: expected {_either(known)}"
        raise StackError(message)


def _either(known: Sequence[str]) -> str:
    return " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"  # noqa: PLR2004 -- a pair


def finite(text: str) -> float | None:
    """The number that `text` says, None where it says none or one without an end."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
