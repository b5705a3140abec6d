"""EAN-13 and EAN-8 on labels, read back as a scanner reads them."""

import pytest

from webui.desks.stock.ean import ean_bars, has_ean, widths

EAN = "4006381333931"
CASE = "14006381333938"


def digits_of(bars: str) -> str:
    """Return the digits of EAN bars, read as a scanner does: seven modules, odd or even parity."""
    modules = "".join(("1", "0")[n % 2] * int(width) for n, width in enumerate(bars))
    left = [
        *("0001101", "0011001", "0010011", "0111101", "0100011"),
        *("0110001", "0101111", "0111011", "0110111", "0001011"),
    ]
    half = (len(modules) - 11) // 2
    assert (modules[:3], modules[3 + half : 8 + half], modules[-3:]) == ("101", "01010", "101")
    read, parity = "", ""
    for at in range(3, 3 + half, 7):
        shape = modules[at : at + 7]
        odd = shape in left
        mirrored = "".join("10"[int(bit)] for bit in reversed(shape))
        read += str(left.index(shape if odd else mirrored))
        parity += "O" if odd else "E"
    for at in range(8 + half, 8 + 2 * half, 7):
        read += str(left.index("".join("10"[int(bit)] for bit in modules[at : at + 7])))
    if half == 28:
        return read
    first = [
        *("OOOOOO", "OOEOEE", "OOEEOE", "OOEEEO", "OEOOEE"),
        *("OEEOOE", "OEEEOO", "OEOEOE", "OEOEEO", "OEEOEO"),
    ]
    return f"{first.index(parity)}{read}"


@pytest.mark.parametrize(
    "digits",
    [EAN, "0036000291452", "96385074", "9780201379624", *(f"{n}123456789012" for n in range(10))],
)
def test_bars_of_an_ean_read_as_its_digits(digits: str) -> None:
    assert digits_of(widths(digits)) == digits
    assert sum(map(int, widths(digits))) == (67 if len(digits) == 8 else 95)


def test_ean_needs_8_or_13_digits() -> None:
    with pytest.raises(ValueError, match="EAN has 8 or 13 digits, got 14"):
        widths(CASE)
    assert not has_ean(CASE)
    assert ean_bars(f"0{EAN}")[1] == 95 + 2 * 11
