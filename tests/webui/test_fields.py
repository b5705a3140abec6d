"""Inputs that people type into forms: accepted values, limits and refusals."""

import json
from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.test import override_settings

from webui.readmodel.figures import money_text
from webui.shell.fields import (
    CodeField,
    DayField,
    DaysField,
    IdField,
    ManyField,
    MomentField,
    MoneyField,
    ShownField,
    SignedNumberField,
    SyntaxField,
    TextField,
    TickField,
    UuidField,
    WholeNumberField,
    days_text,
)

MOST = 1_000_000_000
IN_BERLIN = override_settings(STORES_TIME_ZONE="Europe/Berlin")
PRICE = MoneyField(low=1, high=MOST)
SPAN = DaysField(high=100_000)
LONG = "9" * 5000
RELOAD = "this page is out of date: reload it"


def rule_of(field: SyntaxField, typed: str | None) -> str:
    with pytest.raises(ValidationError) as refused:
        field.clean(typed)
    [rule] = refused.value.messages
    return rule


@pytest.mark.parametrize(
    ("typed", "minor"),
    [
        ("6.49", 649),
        (" 6.49\n", 649),
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
    assert PRICE.clean(typed) == minor


@pytest.mark.parametrize("minor", [0, 1, 99, 100, 99_999, 100_000, 123_456_789, MOST])
def test_a_money_field_accepts_amounts_as_pages_show_them(minor: int) -> None:
    assert MoneyField(high=MOST).clean(money_text(minor)) == minor


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
        *("01,234.50", ",123.00", "6 000", "1e3", "NaN", "0x10", "6.4\n9"),
        *("٦.٤٩", "\N{FULLWIDTH DIGIT SIX}.49", "6²", "6·49", "\N{MINUS SIGN}6.49"),
        *("0", "0.00", "10000000.01", "10,000,000.01", "9" * 13, LONG, "0" * 5000 + ".01"),
    ],
)
def test_a_money_field_refuses_non_amounts_and_amounts_outside_its_limits(typed: str) -> None:
    assert rule_of(PRICE, typed) == "an amount from 0.01 to 10,000,000.00, like 6.49"


def test_a_money_field_that_is_missing_in_the_form_is_refused() -> None:
    assert rule_of(PRICE, None) == "an amount from 0.01 to 10,000,000.00, like 6.49"


@pytest.mark.parametrize(
    ("typed", "centidays"), [("0", 0), ("3", 300), ("2.5", 250), ("0.25", 25), ("1000", 100_000)]
)
def test_a_span_is_typed_in_days(typed: str, centidays: int) -> None:
    assert SPAN.clean(typed) == centidays
    assert SPAN.clean(days_text(centidays)) == centidays


@pytest.mark.parametrize("typed", ["", "soon", "2,5", "1,000", "2.505", "-1", "1000.01", "3 d"])
def test_an_invalid_time_span_is_refused(typed: str) -> None:
    assert rule_of(SPAN, typed) == "days from 0 to 1,000, like 2.5"


@pytest.mark.parametrize(
    ("typed", "number"), [("0", 0), ("007", 7), ("1000000", 1_000_000), (" 12 ", 12)]
)
def test_a_whole_number_is_read(typed: str, number: int) -> None:
    assert WholeNumberField().clean(typed) == number


@pytest.mark.parametrize(
    "typed",
    [
        *("", "many", "-1", "+1", "1.0", "1,000", "1_000", "1e3", "0x1", "1000001", LONG),
        *("²", "٣", "\N{FULLWIDTH DIGIT SIX}", "0" * 13),
    ],
)
def test_an_invalid_whole_number_is_refused(typed: str) -> None:
    assert rule_of(WholeNumberField(), typed) == "a whole number from 0 to 1,000,000"


def test_a_whole_number_has_limits_of_its_own() -> None:
    field = WholeNumberField(low=1, high=90)

    assert [field.clean(text) for text in ("1", "90")] == [1, 90]
    assert {rule_of(field, text) for text in ("0", "91")} == {"a whole number from 1 to 90"}


@pytest.mark.parametrize("field", [WholeNumberField(required=False), DayField(required=False)])
def test_an_empty_text_is_none_where_the_field_is_not_required(field: SyntaxField) -> None:
    assert [field.clean(text) for text in (None, "", "  ")] == [None, None, None]
    assert rule_of(field, "x")


def test_a_day_is_read() -> None:
    assert DayField().clean("2026-11-21") == date(2026, 11, 21)
    assert rule_of(DayField(), "") == "a day like 2026-11-21"
    for typed in ("2026-02-30", "2026-W48-1", "2026W481", "20261121", "2026-11-21T10:00"):
        assert rule_of(DayField(), typed) == "a day like 2026-11-21"


@pytest.mark.parametrize("typed", ["2026-11-21T10:00", "2026-11-21T11:00+01:00"])
def test_a_time_is_read_as_utc(typed: str) -> None:
    assert MomentField().clean(typed) == datetime(2026, 11, 21, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "utc"),
    [
        ("2026-11-21T10:00", datetime(2026, 11, 21, 9, tzinfo=UTC)),
        ("2026-07-21T10:00", datetime(2026, 7, 21, 8, tzinfo=UTC)),
        ("2026-10-25T02:30", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("2026-07-21T10:00+00:00", datetime(2026, 7, 21, 10, tzinfo=UTC)),
    ],
)
def test_a_time_without_utc_offset_uses_the_time_zone_of_the_stores(
    typed: str, utc: datetime
) -> None:
    with IN_BERLIN:
        assert MomentField().clean(typed) == utc


def test_a_time_skipped_by_daylight_saving_is_refused() -> None:
    with IN_BERLIN:
        assert (
            rule_of(MomentField(), "2026-03-29T02:30")
            == "a date and a time by the clock of the stores"
        )


@pytest.mark.parametrize(
    "typed",
    [
        *("yesterday", "0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59", "2026-02-30T00:00"),
        *("2026-W48-1T10:00", "20261121T10:00", "20261121"),
    ],
)
def test_an_invalid_time_is_refused(typed: str) -> None:
    assert rule_of(MomentField(), typed) == "a date and a time by the clock of the stores"


def test_a_code_is_one_of_its_list() -> None:
    assert CodeField(("plan", "ship")).clean("ship") == "ship"
    assert rule_of(CodeField(("plan", "ship")), "Ship") == "one of plan, ship"
    assert rule_of(CodeField(("plan", "ship"), rule="plan or ship"), "") == "plan or ship"


@pytest.mark.parametrize(("typed", "number"), [("0", 0), ("12", 12), ("9" * 18, 10**18 - 1)])
def test_a_hidden_number_is_read(typed: str, number: int) -> None:
    assert IdField().clean(typed) == number
    assert SignedNumberField().clean(typed) == number
    assert SignedNumberField().clean(f"-{typed}") == -number


@pytest.mark.parametrize("typed", ["", "²", "٣", "--5", "-", "+5", "1.0", "9" * 19, LONG])
def test_an_invalid_hidden_number_asks_to_reload_the_page(typed: str) -> None:
    assert rule_of(IdField(), typed) == RELOAD
    assert rule_of(SignedNumberField(), typed) == RELOAD


def test_an_id_has_no_sign() -> None:
    assert rule_of(IdField(), "-5") == RELOAD


def test_a_command_id_is_a_uuid() -> None:
    text = "12345678-1234-5678-1234-567812345678"

    assert UuidField().clean(text) == UUID(text)
    assert [rule_of(UuidField(), typed) for typed in ("", "x", text[1:])] == [RELOAD] * 3


def test_shown_values_have_exactly_the_names_of_the_page() -> None:
    field = ShownField(("a", "b"))

    assert field.clean('{"b": 2, "a": null}') == {"a": None, "b": 2}
    for typed in ("", "{", "[]", "5", '{"a": 1}', '{"a": 1, "b": 2, "c": 3}', "[" * 100_000):
        assert rule_of(field, typed) == RELOAD
    assert ShownField().clean(json.dumps({})) == {}


def test_texts_and_boxes_may_be_empty() -> None:
    assert [TextField().clean(text) for text in (None, " ", " a b ")] == ["", "", "a b"]
    assert [TickField().clean(text) for text in (None, "", " ", "1", "0")] == [
        *(False, False, False),
        *(True, True),
    ]


def test_a_multiple_value_field_removes_duplicates() -> None:
    assert ManyField().clean(["b", "a", "b"]) == ("b", "a")
    assert ManyField().clean(None) == ()
