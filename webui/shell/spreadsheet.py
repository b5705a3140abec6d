"""Escaping of CSV text cells against formula injection in spreadsheets.

Columns with checked numbers need no escaping. The quoting of a `csv` dialect does not help: a
spreadsheet program removes the quotes and then runs the formula.
"""

from typing import Final

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_text(text: str) -> str:
    """Return a text cell with a leading ' if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
