"""GTINs: lengths, check digit, forms of a scan, and the same rule in Postgres."""

from random import Random

import psycopg
import pytest

from ledger.items.gtin import check_digit, digits_in, gtin14, gtin_problem, shortest

EAN_13 = "4006381333931"
# Examples that GS1 and makers of products publish.
RIGHT = [EAN_13, "036000291452", "96385074", "00614141123452", "10614141543219", "9780201379624"]


@pytest.mark.parametrize("code", RIGHT)
def test_valid_gtin_has_no_problem_and_a_wrong_check_digit_is_reported(code: str) -> None:
    others = [code[:-1] + digit for digit in "0123456789" if digit != code[-1]]

    assert gtin_problem(code) is None
    assert check_digit(code[:-1]) == int(code[-1])
    for other in others:
        problem = gtin_problem(other) or ""
        assert problem.startswith(f"the last digit is {other[-1]}, but the check digit ")


@pytest.mark.parametrize("code", RIGHT)
def test_gtin_check_detects_a_wrong_digit_and_swapped_neighbours(code: str) -> None:
    for place in range(len(code)):
        other = str((int(code[place]) + 1) % 10)
        assert gtin_problem(code[:place] + other + code[place + 1 :])
    for place in range(len(code) - 1):
        first, second = code[place], code[place + 1]
        # A check digit misses an exchange of digits that differ by 5: 3·5 − 5 is a multiple of 10.
        if abs(int(first) - int(second)) not in (0, 5):
            assert gtin_problem(code[:place] + second + first + code[place + 2 :])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "a GTIN has digits only"),
        ("40063813339x1", "a GTIN has digits only"),
        ("٤٠٠٦٣٨١٣٣٣٩٣١", "a GTIN has digits only"),
        ("4006381333931\n", "a GTIN has digits only"),
        ("400638133393", "the last digit is 3, but the check digit of this number is "),
        ("40063813339", "a GTIN has 8, 12, 13 or 14 digits, not 11"),
        ("040063813339310", "a GTIN has 8, 12, 13 or 14 digits, not 15"),
        ("00000000", "a GTIN is never 0"),
    ],
)
def test_malformed_gtin_is_refused_with_its_reason(text: str, start: str) -> None:
    assert (gtin_problem(text) or "").startswith(start)
    with pytest.raises(ValueError, match=r"GTIN|check digit"):
        gtin14(text)


@pytest.mark.parametrize(
    ("scanned", "digits"),
    [
        (EAN_13, EAN_13),
        (" 4 006381 333931 ", EAN_13),
        ("4006381-333931", EAN_13),
        (f"]E0{EAN_13}", EAN_13),
        (f"(01)0{EAN_13}(10)A7", f"0{EAN_13}"),
        (f"010{EAN_13}10A7", f"0{EAN_13}"),
        (f"]C1010{EAN_13}10A7\x1d21X", f"0{EAN_13}"),
        (f"]d2\x1d010{EAN_13}", f"0{EAN_13}"),
        (f"https://id.gs1.org/01/0{EAN_13}?17=261231", f"0{EAN_13}"),
        (f"https://shop.example/de/01/{EAN_13}/10/A7", EAN_13),
        ("01061414112345", "01061414112345"),
        ("MUG-1", "MUG-1"),
        ("]E0MUG", "]E0MUG"),
        ("https://id.gs1.org/8004/123", "https://id.gs1.org/8004/123"),
        ("", ""),
    ],
)
def test_digits_are_found_in_every_form_of_a_scan(scanned: str, digits: str) -> None:
    assert digits_in(scanned) == digits


@pytest.mark.parametrize(
    ("code", "symbol"),
    [
        ("96385074", "96385074"),
        ("036000291452", "0036000291452"),
        (EAN_13, EAN_13),
        ("10614141543219", "10614141543219"),
    ],
)
def test_barcode_has_the_shortest_form_of_the_gtin(code: str, symbol: str) -> None:
    assert shortest(gtin14(code)) == symbol


def test_postgres_validates_gtins_like_python(ledger: psycopg.Connection) -> None:
    random = Random(7)  # noqa: S311 -- test data
    drawn = ["".join(random.choices("0123456789", k=14)) for _ in range(300)]
    right = [body[:13] + str(check_digit(body[:13])) for body in drawn]
    texts = [*drawn, *right, *RIGHT, "", "0" * 14, "x" * 14, "٤" * 14, f"{right[0]}\n"]

    found = ledger.execute(
        "SELECT text, retail.is_gtin(text) FROM unnest(%s::text[]) AS text", (texts,)
    ).fetchall()

    assert [is_gtin for _, is_gtin in found] == [
        gtin_problem(text) is None and len(text) == 14 for text, _ in found
    ]
    assert sum(is_gtin for _, is_gtin in found) > 300
    with pytest.raises(psycopg.errors.CheckViolation):
        ledger.execute("INSERT INTO retail.gtin (code, sku) VALUES ('04006381333932', 'S')")
