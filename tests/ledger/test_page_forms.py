"""Forms of pages: the first refused field, its name and value, and the texts that are kept."""

from typing import Any
from uuid import uuid4

import pytest
from django import forms
from django.http import QueryDict
from django.utils import translation
from typing_extensions import override

from ledger.kernel.refusal_text import label, refusal_text
from ledger.services import ServiceError
from webui.desks.receiving.forms import RowForm
from webui.shell.fields import IdField, ManyField, MoneyField, TextField, WholeNumberField
from webui.shell.forms import CommandForm, PageForm
from webui.translation.messages import translate

pytestmark = pytest.mark.usefixtures("database")


class OfferForm(PageForm):
    units = WholeNumberField(low=1)
    auto_max = MoneyField(high=1_000_000_000, label="Automatic limit")
    task = IdField()
    note = TextField()

    @override
    def clean(self) -> None:
        if self.cleaned_data.get("note") == "none":
            self.add_error("note", forms.ValidationError("a note", params={"value": 1_200}))


VALID = {"units": "5", "auto_max": "6.49", "task": "7", "note": "for Ann"}


def refused(**texts: str) -> ServiceError:
    with pytest.raises(ServiceError) as refusal:
        OfferForm(VALID | texts).cleaned()
    return refusal.value


def test_a_form_returns_the_values_of_its_fields() -> None:
    values = OfferForm(VALID | {"units": " 5 "}).cleaned()

    assert values == {"units": 5, "auto_max": 649, "task": 7, "note": "for Ann"}


@pytest.mark.parametrize("typed", ["", "many", "0", " 1000001 ", "1,000", "9" * 5000])
def test_refused_number_error_has_the_typed_text_as_its_value(typed: str) -> None:
    refusal = refused(units=typed)

    rule = "a whole number from 1 to 1,000,000"
    assert (refusal.field, refusal.value, refusal.rule) == ("units", typed.strip(), rule)


def test_refused_amount_message_uses_the_label_of_the_page() -> None:
    said = "Automatic limit: an amount from 0.00 to 10,000,000.00, like 6.49; got “6,49”."

    assert refusal_text(refused(auto_max="6,49")) == said


def test_the_first_refused_field_is_named() -> None:
    assert refused(task="", auto_max="", units="").field == "units"
    assert refused(note="none", task="x").field == "form"


def test_malformed_hidden_field_means_an_outdated_page() -> None:
    assert refusal_text(refused(task="²")) == "This page is out of date: reload it."


def test_a_refusal_may_have_another_value_than_the_typed_text() -> None:
    assert refusal_text(refused(note="none")) == "Note: a note; got 1,200."


def test_form_returns_the_typed_texts_of_unknown_fields_too() -> None:
    posted = QueryDict("units=+6,49&other=x&units=+7+")

    assert OfferForm(posted).typed == {"units": "7", "other": "x"}
    assert OfferForm(posted).text("units") == "7"
    assert OfferForm(posted).text("note") == ""


def test_many_values_of_one_name_are_read() -> None:
    class RolesForm(PageForm):
        roles = ManyField()

    assert RolesForm(QueryDict("roles=a&roles=b&roles=a")).cleaned() == {"roles": ("a", "b")}
    assert RolesForm(QueryDict("")).cleaned() == {"roles": ()}


@pytest.mark.parametrize("text", ["", "x", "12345678-1234-5678-1234"])
def test_malformed_command_id_means_an_outdated_page(text: str) -> None:
    with pytest.raises(ServiceError, match="out of date"):
        CommandForm({"command_id": text}).cleaned()

    key = uuid4()
    assert CommandForm({"command_id": str(key)}).cleaned() == {"command_id": key}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({}, (12, 0, None)),
        ({"received": "12", "damaged": "0"}, (12, 0, None)),
        ({"reason": "refused"}, (0, 0, "refused")),
        ({"damaged": "2", "reason": "damaged"}, (10, 2, "damaged")),
        ({"damaged": "20", "reason": "over"}, (0, 20, "over")),
        ({"received": "11", "reason": "short"}, (11, 0, "short")),
    ],
)
def test_a_row_of_a_delivery_is_read_by_its_suffix(
    typed: dict[str, str], expected: tuple[Any, ...]
) -> None:
    texts = {f"{name}-3-0": text for name, text in ({"shown": "12"} | typed).items()}

    values = RowForm(texts, "3-0", sku="MUG", expected=12).cleaned()

    assert (values["received"], values["damaged"], values["reason"]) == expected


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (
            {"received": "11"},
            "Reason of MUG: 12 were expected, but 11 arrived undamaged and 0 damaged: choose a",
        ),
        (
            {"received": "8", "damaged": "1"},
            (
                "Reason of MUG: 12 were expected, but 8 arrived undamaged and 1 damaged: choose a "
                "reason; “damaged” also covers the missing units."
            ),
        ),
        (
            {"damaged": "2"},
            (
                "Reason of MUG: 12 were expected, but 10 arrived undamaged and 2 damaged: choose a "
                "reason."
            ),
        ),
        (
            {"received": "1", "damaged": "1999", "reason": "refused"},
            "Received of MUG: 0 for refused goods: they are not received; got 2,000.",
        ),
        ({"reason": "lost"}, None),
        ({"received": "-1", "reason": "lost"}, "Received of MUG: a whole number from 0"),
    ],
)
def test_a_refused_row_names_its_item(typed: dict[str, str], text: str | None) -> None:
    texts = {f"{name}-3-0": text for name, text in typed.items()}
    reasons = "Reason of MUG: one of short, over, damaged, refused, wrong item; got “lost”."

    with pytest.raises(ServiceError) as refusal:
        RowForm(texts, "3-0", sku="MUG", expected=12).cleaned()

    assert refusal_text(refusal.value).startswith(text or reasons)


def test_error_of_a_delivery_row_is_translated_except_for_its_sku() -> None:
    form = RowForm({"received-3-0": "x"}, "3-0", sku="BLUE_SHIRT_on", expected=12)

    with pytest.raises(ServiceError) as refusal:
        form.cleaned()

    assert refusal_text(refusal.value).startswith("Received of BLUE_SHIRT_on: a whole number")
    with translation.override("de"):
        text = refusal_text(refusal.value, translate)
    assert text.startswith("Eingegangen von BLUE_SHIRT_on: eine ganze Zahl")


@pytest.mark.parametrize(
    ("field", "german"),
    [
        ("minimum_order", "Mindestbestellwert"),
        ("lead_time", "Lieferzeit"),
        ("lead_time_centidays", "Lieferzeit"),
        ("order_ref", "Bestellnummer"),
        ("reason", "Grund"),
        ("sku", "SKU"),
    ],
)
def test_field_label_is_translated_from_its_field_or_column_name(field: str, german: str) -> None:
    with translation.override("de"):
        assert label(field, translate) == german
    assert label("minimum_order") == "Minimum order"
