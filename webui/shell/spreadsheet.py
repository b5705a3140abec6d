"""Escaping of CSV text cells against formula injection in spreadsheets.

Columns with checked numbers need no escaping. The quoting of a `csv` dialect does not help: a
spreadsheet program removes the quotes and then runs the formula.

In German, for example, the comma is the decimal separator. There, a spreadsheet program splits the
lines of a file at semicolons, and ignores quotes inside a line. So a semicolon or a line break in a
text begins a new cell. Quotes at the beginning of this cell don't hide a formula: the program reads
`""=1+1` as =1+1.
"""

import re
from typing import Final

_BEFORE_FORMULA: Final = re.compile(r"\A(?=[=+\-@\t\r])|(?<=[;\r\n])(?=\"*[=+\-@\t\r])")


def safe_text(text: str) -> str:
    """Return a text cell with a ' before each part that a spreadsheet would run as a formula."""
    return _BEFORE_FORMULA.sub("'", text)
