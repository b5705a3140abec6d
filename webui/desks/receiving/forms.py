"""Forms of the receiving desk: the rows of a delivery, and the correction of a receipt.

A delivery has one row per order line, or one per announced shipment of the line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import ValidationError
from typing_extensions import override

from ledger.messages import Message, gettext_noop
from ledger.services import Delivered, LineReceipt, ServiceError
from webui.desks.orders.lines import Line
from webui.desks.receiving.queries import Announced
from webui.shell.fields import (
    CodeField,
    IdField,
    TextField,
    UuidField,
    WholeNumberField,
    is_digits,
)
from webui.shell.forms import PageForm, Typed

REASONS: Final = ("short", "over", "damaged", "refused", "wrong item")
REFUSED: Final = "refused"
REST: Final = "rest"


class AcceptForm(PageForm):
    """The button that was pressed to receive a delivery.

    With `rest`, the units of empty rows have arrived as expected. With `typed`, empty rows stay
    open.
    """

    accept = CodeField((REST, "typed"), rule=gettext_noop("rest or typed"))


class RowPart(PageForm):
    """Base of forms of one row. The names of its inputs end with the name of the row.

    For example, `received-12-7` belongs to order line 12 and its announced shipment 7. Without an
    announced shipment, the name ends with 0.
    """

    @override
    def add_prefix(self, field_name: str) -> str:
        return f"{field_name}-{self.prefix}"


class ExpectedForm(RowPart):
    """The units that the page expected for one row."""

    expected = IdField()


class RowForm(RowPart):
    """The delivery of one row, and the open units that the page showed.

    Damaged units need a reason, and so do units that differ from the expected ones.
    """

    received = WholeNumberField(required=False)
    damaged = WholeNumberField(required=False)
    reason = CodeField(REASONS, required=False)
    shown = IdField()

    def __init__(self, data: Mapping[str, Any], name: str, *, sku: str, expected: int) -> None:
        super().__init__(data, prefix=name)
        self._expected_units = expected
        for field in ("received", "damaged", "reason"):
            # Messages name the refused field by this label. A plain text would count as the name of
            # a column. A `Message` is translated, and names the SKU of the row.
            self.fields[field].label = Message(
                "%(field)s of %(sku)s", field=Message(field), sku=sku
            )

    @property
    def is_empty(self) -> bool:
        """True if nothing was typed."""
        return not any(self.text(name) for name in ("received", "damaged", "reason"))

    @override
    def clean(self) -> None:
        if {"received", "damaged", "reason"} & self.errors.keys():
            return
        reason, damaged = self.cleaned_data["reason"], self.cleaned_data["damaged"] or 0
        received = self.cleaned_data["received"]
        if received is None:
            received = 0 if reason == REFUSED else max(0, self._expected_units - damaged)
        self.cleaned_data |= {"received": received, "damaged": damaged}
        if reason == REFUSED and received + damaged:
            rule = gettext_noop("0 for refused goods: they are not received")
            self._refuse("received", received + damaged, rule)
        elif not reason and (damaged or received != self._expected_units):
            self._refuse("reason", None, self._missing_reason(received, damaged))

    def _missing_reason(self, received: int, damaged: int) -> Message:
        """Return the refusal of a row that needs a reason; one reason holds for all its units."""
        units = {
            "expected": f"{self._expected_units:,}",
            "received": f"{received:,}",
            "damaged": f"{damaged:,}",
        }
        if 0 < damaged < self._expected_units - received:
            return Message(
                "%(expected)s were expected, but %(received)s arrived undamaged and %(damaged)s "
                "damaged: choose a reason; “damaged” also covers the missing units",
                **units,
            )
        return Message(
            "%(expected)s were expected, but %(received)s arrived undamaged and %(damaged)s "
            "damaged: choose a reason",
            **units,
        )

    def _refuse(self, field: str, value: object, rule: str) -> None:
        self.add_error(field, ValidationError(rule, params={"value": value}))


class CorrectionForm(PageForm):
    """A correction of a receipt: the right numbers of units, a reason, and the version shown."""

    received = WholeNumberField()
    damaged = WholeNumberField()
    receipt = IdField()
    reason = TextField()
    shown_version = TextField()
    command_id = UuidField()


@dataclass(frozen=True, slots=True)
class ExpectedDelivery:
    """An expected delivery of an order line, with or without an announcement by the supplier.

    Without an announcement, all open units of the line are expected.
    """

    line: Line
    expected_units: int
    shipment_id: int | None = None

    @property
    def name(self) -> str:
        """The suffix of the row's form fields."""
        return f"{self.line.id}-{self.shipment_id or 0}"


def expected_rows(lines: Iterable[Line], announced: Iterable[Announced]) -> list[ExpectedDelivery]:
    """Return one row per announced delivery, and one row per line without an announced delivery.

    The row of such a line has its open units. A line has no row if it is a draft, or if it has
    neither an announced delivery nor open units.
    """
    of_line: dict[int, list[Announced]] = {}
    for goods in announced:
        of_line.setdefault(goods.line_id, []).append(goods)
    rows: list[ExpectedDelivery] = []
    for line in lines:
        if line.status == "draft":
            continue
        if line.id in of_line:
            rows += [
                ExpectedDelivery(line, goods.shipped_units, goods.id) for goods in of_line[line.id]
            ]
        elif line.open_units:
            rows.append(ExpectedDelivery(line, line.open_units))
    return rows


def shown_rows(typed: Typed, lines: Iterable[Line]) -> list[ExpectedDelivery]:
    """Return the rows that the form was rendered with, even if the order has changed since.

    Only rows that a person has seen can be accepted as expected. If another person has received a
    row in the meantime, the ledger refuses this row, because its open units have changed.
    """
    known = {line.id: line for line in lines}
    found = []
    for field in typed:
        if not field.startswith("shown-"):
            continue
        name = field.removeprefix("shown-")
        line_id, _, shipment_id = name.partition("-")
        if is_digits(line_id) and is_digits(shipment_id) and int(line_id) in known:
            expected = ExpectedForm(typed, prefix=name).cleaned()["expected"]
            found.append(ExpectedDelivery(known[int(line_id)], expected, int(shipment_id) or None))
    return found


@dataclass(frozen=True, slots=True)
class TypedRow:
    """A row, and the input that a person typed in it before the form was refused."""

    row: ExpectedDelivery
    received: str = ""
    damaged: str = ""
    reason: str = ""


def kept_rows(
    rows: Iterable[ExpectedDelivery], lines: Iterable[Line], typed: Mapping[str, str]
) -> tuple[list[TypedRow], list[TypedRow]]:
    """Return the current rows with the typed input, and the input that fits no row.

    After a refusal, the row of an input may no longer exist. Then the input moves to another row of
    the same order line: the first one without input. If the line has no row at all, the first of
    its inputs gets a new row.
    """
    left = {
        name.removeprefix("shown-"): _typed(name.removeprefix("shown-"), typed)
        for name in typed
        if name.startswith("shown-")
    }
    found = [TypedRow(row, *left.pop(row.name, ("", "", ""))) for row in rows]
    of_line: dict[str, list[tuple[str, str, str]]] = {}
    for name, words in left.items():
        if any(words):
            of_line.setdefault(name.partition("-")[0], []).append(words)
    for number, kept in enumerate(found):
        waiting = of_line.get(str(kept.row.line.id))
        if waiting and not (kept.received or kept.damaged or kept.reason):
            found[number] = TypedRow(kept.row, *waiting.pop(0))
    with_row = {kept.row.line.id for kept in found}
    without_row: list[TypedRow] = []
    for line in lines:
        inputs = of_line.get(str(line.id), [])
        gone = ExpectedDelivery(line, line.open_units)
        if inputs and line.id not in with_row:
            found.append(TypedRow(gone, *inputs.pop(0)))
        without_row += [TypedRow(gone, *words) for words in inputs]
    return found, without_row


def _typed(name: str, typed: Mapping[str, str]) -> tuple[str, str, str]:
    return (
        typed.get(f"received-{name}", ""),
        typed.get(f"damaged-{name}", ""),
        typed.get(f"reason-{name}", ""),
    )


def typed_receipts(rows: Iterable[ExpectedDelivery], typed: Typed) -> list[LineReceipt]:
    """Return the receipts in the form, at least one; raise `ServiceError` for a refused value.

    An empty row has a receipt only if the button was `rest`: then its units have arrived as
    expected. `RowForm` states which units need a reason.
    """
    takes_rest = AcceptForm(typed).cleaned()["accept"] == REST
    forms = [
        (row, RowForm(typed, row.name, sku=row.line.sku, expected=row.expected_units))
        for row in rows
    ]
    found = [_receipt(row, form) for row, form in forms if takes_rest or not form.is_empty]
    if not found:
        field, rule = "received", gettext_noop("type the units of at least one line")
        raise ServiceError(field, "", rule)
    return found


def _receipt(row: ExpectedDelivery, form: RowForm) -> LineReceipt:
    values = form.cleaned()
    delivered = Delivered(values["received"], values["damaged"], None, values["reason"])
    return LineReceipt(row.line.id, delivered, row.shipment_id, values["shown"])
