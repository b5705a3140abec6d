"""Code 128 (ISO/IEC 15417, code set B): the bars of a text of printable ASCII characters.

The package python-barcode can do the same, but its version 0.16.1 installs top-level packages named
`tests` and `docs`.
"""

from typing import Final

# Widths of bar, space, bar, space, bar, space by symbol value. A blank has the value 0, `!` has 1.
_WIDTHS: Final = """
212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232
122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 311222 321122
321221 312212 322112 322211 212123 212321 232121 111323 131123 131321 112313 132113 132311
211313 231113 231311 112133 112331 132131 113123 113321 133121 313121 211331 231131 213113
213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224 111422
121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111
241112 134111 111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121
412121 111143 111341 131141 114113 114311 411113 411311 113141 114131 311141 411131 211412
211214 211232
""".split()  # noqa: SIM905 -- one code a line would take 106 lines
_START_B: Final = 104
_STOP: Final = "2331112"
_CHECKED_BY: Final = 103
_FIRST, _LAST = " ", "~"


def widths(text: str) -> str:
    """Return the widths of bars and spaces, one digit each, beginning with a bar.

    The unit is the module: the width of the narrowest bar.

    Raises:
        ValueError: the text is empty or has a character outside of printable ASCII.
    """
    if not has_barcode(text):
        message = f"Code 128 needs printable ASCII characters, got {text!r}"
        raise ValueError(message)
    values = [ord(character) - ord(_FIRST) for character in text]
    check = _START_B + sum(place * value for place, value in enumerate(values, start=1))
    codes = [_START_B, *values, check % _CHECKED_BY]
    return "".join(_WIDTHS[code] for code in codes) + _STOP


def has_barcode(text: str) -> bool:
    """Return True if the text can be written in Code 128's code set B."""
    return bool(text) and all(_FIRST <= character <= _LAST for character in text)


def bars(text: str) -> tuple[str, int]:
    """Return the bars as an SVG path of height 1, and their total width; a module is 1 wide."""
    return path_of(widths(text))


def path_of(given: str, start: int = 0) -> tuple[str, int]:
    """Return the bars of these widths from x = `start` on as an SVG path, and the x at the end."""
    path, place = [], start
    for number, width in enumerate(map(int, given)):
        if number % 2 == 0:
            path.append(f"M{place} 0h{width}v1h-{width}z")
        place += width
    return "".join(path), place
