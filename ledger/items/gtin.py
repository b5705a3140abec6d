"""GTINs, the numbers in barcodes: lengths, check digit, and GTINs inside other barcodes.

A GTIN has 8, 12, 13 or 14 digits; the last digit is a check digit (GS1 General Specifications 7.9).
The barcodes EAN-8, UPC-A and EAN-13 contain the forms with 8, 12 and 13 digits. Zeros in front
complete each of them to 14 digits. The SQL function `retail.is_gtin` repeats the rule for 14
digits, for a CHECK constraint. A test compares the SQL function with this module. All functions are
pure.
"""

import re
from typing import Final

from ledger.messages import Message

LENGTH: Final = 14
LENGTHS: Final = (8, 12, 13, LENGTH)
# A GTIN with spaces, as packages show it: `4 006381 333931`.
_SPACED: Final = re.compile(r"[0-9][0-9 -]*\Z")
# An element string of GS1-128 or DataMatrix begins with application identifier 01 and the GTIN.
# Scanners may put a symbology identifier like `]C1` in front; programs put parentheses around 01.
_ELEMENTS: Final = re.compile(r"(?:\][A-Za-z][0-9])?\x1d?(?:\(01\)|01)([0-9]{14})")
_LINK: Final = re.compile(r"https?://[^\s/]+(?:/[^\s/?#]+)*/01/([0-9]{8,14})(?:[/?#]\S*)?\Z")
_SYMBOL: Final = re.compile(r"\][A-Za-z][0-9](?=[0-9]+\Z)")


def check_digit(digits: str) -> int:
    """Return the check digit that belongs behind `digits`.

    The digits are multiplied by 3, 1, 3, … from the right and added up. The check digit raises the
    sum to a multiple of 10: `400638133393` has the sum 89, so its check digit is 1.
    """
    total = sum(
        int(digit) * (1 if place % 2 else 3) for place, digit in enumerate(reversed(digits))
    )
    return -total % 10


def gtin_problem(text: str) -> Message | None:
    """Return the reason why `text` is no GTIN, with the next step for a person; None for a GTIN.

    The caller has removed spaces and hyphens (`digits_in`).
    """
    if not (text.isascii() and text.isdigit()):
        return Message("a GTIN has digits only: type the number below the bars")
    if len(text) not in LENGTHS:
        return Message(
            "a GTIN has 8, 12, 13 or 14 digits, not %(digits)s: compare the number with the "
            "package",
            digits=len(text),
        )
    if not text.strip("0"):
        return Message("a GTIN is never 0: type the number below the bars")
    wanted = check_digit(text[:-1])
    if int(text[-1]) != wanted:
        return Message(
            "the last digit is %(found)s, but the check digit of this number is %(wanted)s: "
            "compare the number with the package, or scan again",
            found=text[-1],
            wanted=wanted,
        )
    return None


def gtin14(text: str) -> str:
    """Return a GTIN with 14 digits.

    Raises:
        ValueError: the text is no GTIN (`gtin_problem`).
    """
    if problem := gtin_problem(text):
        raise ValueError(problem)
    return text.zfill(LENGTH)


def digits_in(text: str) -> str:
    """Return the digits of the GTIN in a scan or typed text, or else the text without outer spaces.

    Texts with a GTIN are `]E04006381333931`, `(01)04006381333931(10)A7`,
    `https://id.gs1.org/01/04006381333931` and `4 006381 333931`. The digits are not checked here.
    """
    text = text.strip(" ")
    for form in (_ELEMENTS, _LINK):
        if found := form.match(text):
            return found[1]
    bare = _SYMBOL.sub("", text)
    return bare.replace(" ", "").replace("-", "") if _SPACED.match(bare) else bare


def shortest(gtin: str) -> str:
    """Return a GTIN of 14 digits as its barcode shows it: EAN-8, EAN-13 (also UPC-A) or 14 digits.

    A GTIN of UPC-A gets the 13 digits of EAN-13, because both barcodes have the same bars.
    """
    for length in (8, 13):
        if not gtin[:-length].strip("0"):
            return gtin[-length:]
    return gtin
