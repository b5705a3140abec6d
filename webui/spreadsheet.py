"""Text cells of a CSV that no spreadsheet runs; number columns hold checked numbers and need none.

It is left to no `csv` dialect: quoting does not keep a program from running what it has unquoted.
"""

from typing import Final

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_text(text: str) -> str:
    """A text cell with a leading ' where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
