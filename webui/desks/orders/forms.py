"""Forms of an order's page."""

from ledger.messages import gettext_noop
from ledger.services import DraftOrder, ServiceError
from webui.shell.fields import (
    DayField,
    IdField,
    ManyField,
    TextField,
    TickField,
    UuidField,
    WholeNumberField,
)
from webui.shell.forms import PageForm


class ActionForm(PageForm):
    """The name of a command on an order or a line. Another form reads the command's values."""

    action = TextField()


class SendForm(PageForm):
    """The command to send a draft order, with the version of its lines that the page showed."""

    below_minimum = TickField()
    shown_version = TextField()
    command_id = UuidField()


class SendManyForm(PageForm):
    """Ticked draft orders, each as `version@@order_ref`, with the version that the page showed."""

    pick = ManyField()
    below_minimum = TickField()
    command_id = UuidField()

    def orders(self) -> list[DraftOrder]:
        """Return the ticked orders; raise `ServiceError` if there is none."""
        picked = [text.partition("@@") for text in self.cleaned()["pick"]]
        if not picked:
            field, rule = "pick", gettext_noop("tick at least one order first")
            raise ServiceError(field, "", rule)
        return [DraftOrder(order_ref, version) for version, _, order_ref in picked]


class LineForm(PageForm):
    """The order line that a command changes, and the version of the line that the page showed."""

    line = IdField()
    shown_version = TextField()
    command_id = UuidField()


class UnitsForm(PageForm):
    """The units that a person typed for an order line."""

    units = WholeNumberField(low=1)


class QuantityForm(UnitsForm):
    """The typed units of a need or draft line, and the units that the person has confirmed.

    The page asks for a confirmation if the typed units are far beyond the proposed or drafted ones.
    """

    meant = TextField()

    @property
    def is_confirmed(self) -> bool:
        """True if the confirmation is for the quantity typed now, not for an earlier one."""
        return bool(self.text("meant")) and self.text("meant") == self.text("units")


class ConfirmForm(PageForm):
    """Units that the supplier confirms, and the new due day if it changes.

    A person ticks `beyond_order` to accept more units than ordered, and `closing` to close the line
    with 0 units.
    """

    units = WholeNumberField()
    due_on = DayField(required=False)
    beyond_order = TickField()
    closing = TickField()
