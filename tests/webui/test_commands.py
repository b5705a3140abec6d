"""Inputs that people type into forms: accepted values, limits and refusals."""

import pytest

from ledger.kernel.refusal_text import refusal_text
from ledger.services import ServiceError
from webui.readmodel.figures import money_text
from webui.shell.commands import days_text, parse_datetime, parse_days, parse_money

MOST = 1_000_000_000


@pytest.mark.parametrize(
    ("typed", "minor"),
    [
        ("6.49", 649),
        ("6.4", 640),
        ("6", 600),
        ("0.01", 1),
        ("0006.49", 649),
        ("1234.5", 123_450),
        ("1234.50", 123_450),
        ("1,234.50", 123_450),
        ("9999999.99", 999_999_999),
        ("10000000", MOST),
        ("10,000,000.00", MOST),
    ],
)
def test_an_amount_is_read_in_minor_units(typed: str, minor: int) -> None:
    assert parse_money({"price": typed}, "price", low=1, high=MOST) == minor


@pytest.mark.parametrize("minor", [0, 1, 99, 100, 99_999, 100_000, 123_456_789, MOST])
def test_an_amount_is_read_as_pages_write_it(minor: int) -> None:
    assert parse_money({"price": money_text(minor)}, "price", high=MOST) == minor


@pytest.mark.parametrize(
    "typed",
    [
        *("", " ", "six", "6,49", "6,495", "6.495", "6.", ".49", "-6.49", "+6.49", "6.49 EUR"),
        *(
            "6.4.9",
            "1,23.45",
            "1,2345.00",
            "12,34.50",
            "1234,567.00",
            "1,234",
            "1,234.5",
            "1.234,50",
        ),
        *("01,234.50", ",123.00", "6 000", "1e3", "NaN", "0x10", "6.49\n"),
        *("٦.٤٩", "\N{FULLWIDTH DIGIT SIX}.49", "6²", "6·49", "\N{MINUS SIGN}6.49"),
        *("0", "0.00", "10000000.01", "10,000,000.01", "9" * 13, "9" * 5000, "0" * 5000 + ".01"),
    ],
)
def test_what_is_no_amount_or_none_within_the_limits_is_refused_as_it_was_typed(
    typed: str,
) -> None:
    with pytest.raises(ServiceError) as refused:
        parse_money({"price": typed}, "price", low=1, high=MOST)

    assert refused.value.value == typed
    assert refused.value.rule == "an amount from 0.01 to 10,000,000.00, like 6.49"


def test_a_refused_amount_is_named_as_the_page_names_it() -> None:
    with pytest.raises(ServiceError) as refused:
        parse_money({"auto_max": "6,49"}, "auto_max", high=MOST, label="Automatic limit")

    said = "Automatic limit: an amount from 0.00 to 10,000,000.00, like 6.49; got “6,49”."
    assert refusal_text(refused.value) == said


def test_a_field_that_the_form_has_not_is_refused() -> None:
    with pytest.raises(ServiceError, match="an amount from"):
        parse_money({"price_minor": "649"}, "price", high=MOST)


@pytest.mark.parametrize(
    ("typed", "centidays"), [("0", 0), ("3", 300), ("2.5", 250), ("0.25", 25), ("1000", 100_000)]
)
def test_a_span_is_typed_in_days(typed: str, centidays: int) -> None:
    assert parse_days({"lead_time": typed}, "lead_time", high=100_000) == centidays
    assert parse_days({"lead_time": days_text(centidays)}, "lead_time", high=100_000) == centidays


@pytest.mark.parametrize("typed", ["", "soon", "2,5", "1,000", "2.505", "-1", "1000.01", "3 d"])
def test_what_is_no_span_is_refused_as_it_was_typed(typed: str) -> None:
    with pytest.raises(ServiceError) as refused:
        parse_days({"lead_time": typed}, "lead_time", high=100_000)

    assert refused.value.value == typed
    assert refused.value.rule == "days from 0 to 1,000, like 2.5"


@pytest.mark.parametrize(
    "typed", ["yesterday", "0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59", "2026-02-30T00:00"]
)
def test_a_time_that_is_in_no_calendar_is_refused(typed: str) -> None:
    with pytest.raises(ServiceError, match="a date and a time, UTC"):
        parse_datetime({"at": typed}, "at")
