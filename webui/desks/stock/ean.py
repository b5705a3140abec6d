"""EAN-13 and EAN-8 (ISO/IEC 15420): the bars of a GTIN on a label."""

from typing import Final

from ledger.items.gtin import shortest
from webui.desks.stock.barcode import path_of

# For each digit with odd parity, its widths of space, bar, space and bar in the left half of the
# code. With even parity, a digit has these widths in reverse order. In the right half, it has the
# widths of odd parity, but begins with a bar.
_ODD: Final = ["3211", "2221", "2122", "1411", "1132", "1231", "1114", "1312", "1213", "3112"]
# The first digit of EAN-13 has no bars: the parities of the next six digits encode it.
_PARITY: Final = (
    *("OOOOOO", "OOEOEE", "OOEEOE", "OOEEEO", "OEOOEE"),
    *("OEEOOE", "OEEEOO", "OEOEOE", "OEOEEO", "OEEOEO"),
)
_GUARD: Final = "111"
_MIDDLE: Final = "11111"
# Width of the white quiet zone that a scanner needs on either side, in modules.
QUIET: Final = 11
_EAN_8, _EAN_13 = 8, 13


def has_ean(gtin: str) -> bool:
    """Return True if a GTIN with 14 digits has a form with 8 or 13 digits.

    The GTIN of a case may begin with another digit than 0. Then it has no shorter form.
    """
    return len(shortest(gtin)) in (_EAN_8, _EAN_13)


def widths(digits: str) -> str:
    """Return the widths of bars and spaces, one digit each, beginning with a bar.

    They add up to 95 modules for EAN-13, or 67 for EAN-8. A module is the narrowest bar's width.

    Raises:
        ValueError: there are neither 8 nor 13 digits.
    """
    if len(digits) == _EAN_8:
        left, parity = digits[:4], "OOOO"
    elif len(digits) == _EAN_13:
        left, parity = digits[1:7], _PARITY[int(digits[0])]
    else:
        message = f"EAN has 8 or 13 digits, got {len(digits)}"
        raise ValueError(message)
    shapes = [
        _ODD[int(digit)][:: 1 if side == "O" else -1]
        for digit, side in zip(left, parity, strict=True)
    ]
    right = [_ODD[int(digit)] for digit in digits[len(digits) // 2 + len(digits) % 2 :]]
    return "".join([_GUARD, *shapes, _MIDDLE, *right, _GUARD])


def ean_bars(gtin: str) -> tuple[str, int]:
    """Return the bars as an SVG path of height 1, and their width with the quiet zones."""
    path, width = path_of(widths(shortest(gtin)), QUIET)
    return path, width + QUIET
