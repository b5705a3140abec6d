"""The form of the notice about a send."""

from webui.shell.fields import IdField, TextField, UuidField
from webui.shell.forms import PageForm


class SendActionForm(PageForm):
    """The action on a send, and the desk to return to."""

    send = IdField()
    action = TextField()
    desk = TextField()
    command_id = UuidField()
