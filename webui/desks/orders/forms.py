"""Forms of an order's page."""

from webui.shell.fields import (
    DayField,
    IdField,
    TextField,
    TickField,
    UuidField,
    WholeNumberField,
)
from webui.shell.forms import PageForm


class ActionForm(PageForm):
    """The command on an order or one of its lines; each has a form of its own."""

    action = TextField()


class SendForm(PageForm):
    """Sending an order, and the version of its drafts that the page showed."""

    below_minimum = TickField()
    shown_version = TextField()
    command_id = UuidField()


class LineForm(PageForm):
    """The line of a command, and its version that the page showed."""

    line = IdField()
    shown_version = TextField()
    command_id = UuidField()


class UnitsForm(PageForm):
    """Units of a line."""

    units = WholeNumberField(low=1)


class ConfirmForm(PageForm):
    """Units that the supplier confirms, the due day if it moves, and more than ordered."""

    units = WholeNumberField()
    due_on = DayField(required=False)
    beyond_order = TickField()
