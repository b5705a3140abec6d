"""The form of the notice about a send."""

from webui.shell.fields import IdField, TextField, UuidField
from webui.shell.forms import PageForm


class SendActionForm(PageForm):
    """The action on a send, and the desk to return to.

    A send is a request to order needs or to send orders. It waits ten seconds. `desk` is
    `reorders`, `orders`, or `order` for the page of the order `ref`.
    """

    send = IdField()
    action = TextField()
    desk = TextField()
    ref = TextField()
    command_id = UuidField()
