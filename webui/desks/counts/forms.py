"""Forms of counts, adjustments and their approvals."""

from typing import Final

from typing_extensions import override

from inventory.tables.columns import AMOUNT_MAX
from ledger.items.scanned import typed_sku
from ledger.messages import gettext_noop
from ledger.services import Adjust
from webui.shell.fields import (
    CodeField,
    HiddenField,
    IdField,
    MomentField,
    MoneyField,
    SignedNumberField,
    TextField,
    UuidField,
    WholeNumberField,
    is_digits,
)
from webui.shell.forms import PageForm

PREVIEW: Final = "preview"
BOOK: Final = "book"


class SheetForm(PageForm):
    """The location of a new sheet, and the first item to count there."""

    command_id = UuidField()
    location = TextField()
    sku = TextField()


class EntryForm(PageForm):
    """One item and its counted units."""

    command_id = UuidField()
    sku = TextField()
    units = WholeNumberField()


class LinesForm(PageForm):
    """One item per line, with its units: `MUG-1 12`."""

    command_id = UuidField()
    lines = TextField()

    def all_lines(self) -> list[str]:
        """Return the lines that aren't empty, stripped."""
        return [line.strip() for line in self.text("lines").splitlines() if line.strip()]


class UndoForm(PageForm):
    """The entry to remove from a sheet."""

    entry_id = UuidField()


class AdjustForm(PageForm):
    """An adjustment. The ledger checks the values of the text fields."""

    quantity_units = WholeNumberField(low=1)
    occurred_at = MomentField(required=False)
    location = TextField()
    sku = TextField()
    reason = TextField()
    note = TextField()

    def wanted(self) -> Adjust:
        """Return the checked adjustment; raise `ServiceError` with the first refused field."""
        values = self.cleaned()
        sku = typed_sku(values["location"], values["sku"])
        wanted = Adjust(**values | {"sku": sku})
        wanted.check()
        return wanted


class BookForm(PageForm):
    """The button that was pressed: preview an adjustment, or book it."""

    action = CodeField((PREVIEW, BOOK), rule=gettext_noop("preview or book"))


class SubjectField(HiddenField):
    """The kind and id of a waiting row: `count-12` is a count, `request-12` an adjustment."""

    @override
    def read(self, text: str) -> tuple[str, int] | None:
        kind, _, digits = text.partition("-")
        return (kind, int(digits)) if is_digits(digits) else None


class DecideForm(PageForm):
    """An approver's decision on a waiting count or adjustment."""

    subject = SubjectField()
    action = TextField()
    reason = TextField()


class ApproveForm(PageForm):
    """The expected units that the page showed for a waiting count."""

    shown_expected = SignedNumberField()
    command_id = UuidField()


class LimitForm(PageForm):
    """The value above which an adjustment needs two people, and the limit that the page showed."""

    limit = MoneyField(high=AMOUNT_MAX)
    shown_minor = IdField()


class VoidForm(PageForm):
    """The approved count to void."""

    count_id = IdField()
    reason = TextField()
    command_id = UuidField()
