"""The form of the notice about a send."""

from webui.shell.fields import IdField, TextField, UuidField
from webui.shell.forms import PageForm


class SendActionForm(PageForm):
    """The action on a send (orders that go out after ten seconds), and the desk to return to.

    If the desk is `order`, the page of the order `ref` follows.
    """

    send = IdField()
    action = TextField()
    desk = TextField()
    ref = TextField()
    command_id = UuidField()
