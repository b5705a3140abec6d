"""The form of the tasks desk."""

from webui.shell.fields import IdField
from webui.shell.forms import PageForm


class TaskForm(PageForm):
    """The task that a person decides on. The field has the name `proposal`, as on every desk."""

    proposal = IdField()
