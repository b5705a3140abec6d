"""Forms of the transfers desk. The reorders desk also uses `RouteForm`."""

from ledger.items.scanned import typed_sku
from ledger.messages import gettext_noop
from ledger.services import Delivered, Route
from webui.shell.fields import (
    CodeField,
    DayField,
    IdField,
    TextField,
    TickField,
    UuidField,
    WholeNumberField,
)
from webui.shell.forms import DueForm, PageForm

PLAN, SHIP = "plan", "ship"


class RouteForm(PageForm):
    """Units of an item that go from one location to another, and their due day."""

    units = WholeNumberField(low=1)
    due_on = DayField(required=False)
    source = TextField()
    destination = TextField()
    sku = TextField()

    def route(self) -> Route:
        """Return the route; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return Route(
            values["source"],
            values["destination"],
            typed_sku(values["source"], values["sku"]),
            values["units"],
            values["due_on"],
        )


class RequestForm(RouteForm):
    """A transfer to plan, or a transfer that leaves without a plan."""

    reorder_id = TextField()
    action = CodeField((PLAN, SHIP), rule=gettext_noop("plan or ship"))
    beyond_stock = TickField()
    command_id = UuidField()


class StepForm(PageForm):
    """The transfer, and the step that a person requests: ship, receive, cancel or another."""

    transfer = IdField()
    action = TextField()


class ShipForm(PageForm):
    """The units of a planned transfer that the source ships.

    `beyond_stock` confirms that these units were sent although the source has fewer on hand.
    """

    units = WholeNumberField(low=1)
    beyond_stock = TickField()
    command_id = UuidField()


class TransferDueForm(DueForm):
    """A new due day, and the version of the transfer that the page showed."""

    shown_version = TextField()
    command_id = UuidField()


class DeliveredForm(PageForm):
    """Units that have arrived, and the reason of a difference."""

    received_units = WholeNumberField()
    damaged_units = WholeNumberField()
    reason = TextField()
    command_id = UuidField()

    def delivered(self) -> Delivered:
        """Return the delivery; raise `ServiceError` with the first field that is refused."""
        values = self.cleaned()
        return Delivered(
            values["received_units"],
            values["damaged_units"],
            discrepancy_reason=values["reason"] or None,
        )
