"""The parts of the tasks desk as its template reads them."""

from dataclasses import dataclass
from uuid import UUID

from webui.desks.tasks.queries import Task
from webui.shell.desk import Refusal


@dataclass(frozen=True, slots=True)
class Card:
    """A task with its text, a person's next step, and the refusal of that person's command."""

    task: Task
    label: str
    role: str
    says: str
    step: str
    url: str
    can_acknowledge: bool
    refusal: Refusal | None
    command_id: UUID


@dataclass(frozen=True, slots=True)
class RoleFilter:
    """A filter by role, with its number of open tasks."""

    label: str
    url: str
    is_current: bool
    tasks: str


@dataclass(frozen=True, slots=True)
class KindFilter:
    """A filter by kind, with its number of open tasks; `without` is the URL without the filter."""

    label: str
    url: str
    without: str
    is_current: bool
    tasks: str
