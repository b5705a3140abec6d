"""The form of the notice about a send."""

from webui.shell.fields import IdField, TextField, UuidField
from webui.shell.forms import PageForm


class SendActionForm(PageForm):
    """The action on a send, and the desk to return to, or the order `ref` for the desk `order`."""

    send = IdField()
    action = TextField()
    desk = TextField()
    ref = TextField()
    command_id = UuidField()
