"""The roles of people. Each role is a Django group whose name is the role's code.

The rights of each role are in `webui.accounts.roles`, where pages check them. The roles that may
order are here, because the job `ledger.automation.sends` checks them too.
"""

from dataclasses import dataclass
from typing import Final

from ledger.messages import gettext_noop

ASSOCIATE: Final = "associate"
MANAGER: Final = "manager"
BUYER: Final = "buyer"
LEAD: Final = "lead"
PRICING: Final = "pricing"
ANALYST: Final = "analyst"
OPERATOR: Final = "operator"
# Roles that may approve needs and send orders. A send waits ten seconds. Before a job executes the
# send, it checks the person's roles again.
ORDERING: Final = frozenset({BUYER, LEAD})


@dataclass(frozen=True, slots=True)
class Role:
    """A role: its code (the group's name) and its label on pages.

    With `is_of_store`, a new account gets only the stores and regions that a person assigns to it.
    Without `is_of_store`, a new account gets all stores by default. People see the tasks of their
    role and of the roles in `sees_tasks_of`.
    """

    code: str
    label: str
    is_of_store: bool = False
    sees_tasks_of: tuple[str, ...] = ()


ROLES: Final = (
    Role(ASSOCIATE, gettext_noop("Store staff"), is_of_store=True),
    Role(MANAGER, gettext_noop("Store manager"), is_of_store=True, sees_tasks_of=(ASSOCIATE,)),
    Role(BUYER, gettext_noop("Buyer")),
    Role(LEAD, gettext_noop("Purchasing lead"), sees_tasks_of=(BUYER,)),
    Role(PRICING, gettext_noop("Pricing")),
    Role(ANALYST, gettext_noop("Analyst")),
    Role(OPERATOR, gettext_noop("Operator")),
)
