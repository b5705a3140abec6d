import pytest

from webui.desks.stock.barcode import bars, has_barcode, widths


def test_a_barcode_has_the_same_bars_as_those_of_python_barcode() -> None:
    # From python-barcode 0.16.1: start B, a, blank, B, ~, check 60, stop.
    assert widths("a B~") == "2112141211242122221311231311413222112331112"


def test_a_barcode_is_eleven_modules_a_character_plus_its_frame_wide() -> None:
    path, width = bars("KIT-1086")

    assert width == 11 * len("KIT-1086") + 35
    assert path.startswith("M0 0h2v1h-2z")
    assert path.count("z") == 3 * (len("KIT-1086") + 2) + 4


@pytest.mark.parametrize("text", ["", "ü", "a\tb", "é1"])
def test_a_text_outside_of_printable_ascii_has_no_bars(text: str) -> None:
    assert not has_barcode(text)
    with pytest.raises(ValueError, match="printable ASCII"):
        widths(text)
