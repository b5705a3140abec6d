"""The converter `code` of routes: each code of an item, product or supplier has its own address.

A code may contain `/`, or be `.` or `..` (docs/domain.md 0). Browsers and servers treat these
characters as parts of a path, even if they are percent-encoded. So an address has `~` and two
hexadecimal digits in their place: `/items/L/a~2Fb`, `/items/L/~2E~2E`.
"""

import re
from typing import Final

from django.urls import register_converter

_ESCAPED: Final = re.compile(r"~(2E|2F|7E)")


class CodeConverter:
    """Converts a code to one segment of a path, and back.

    A plain `/` is accepted too: `/items/L/a/b` leads to the same page as `/items/L/a~2Fb`. But if
    another route matches, a plain `/` leads to another page: `/prices/items/L/x/change` changes the
    price of `x`, and doesn't show the prices of the SKU `x/change`.
    """

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        """Return the code of a segment."""
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)

    def to_url(self, code: str) -> str:
        """Return the segment of a code; Django percent-encodes other characters."""
        if code in (".", ".."):
            return code.replace(".", "~2E")
        return _ESCAPED.sub(r"~7E\1", code).replace("/", "~2F")


# A `urls` module that uses `<code:...>` imports this module.
register_converter(CodeConverter, "code")
