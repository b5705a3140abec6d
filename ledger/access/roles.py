"""The roles of people, one value each. A role is a Django group of the same name.

`webui.accounts.roles` has the rights of each role, because only pages check them.
"""

from dataclasses import dataclass
from typing import Final

ASSOCIATE: Final = "associate"
MANAGER: Final = "manager"
BUYER: Final = "buyer"
LEAD: Final = "lead"
PRICING: Final = "pricing"
ANALYST: Final = "analyst"
OPERATOR: Final = "operator"


@dataclass(frozen=True, slots=True)
class Role:
    """A role with its label.

    A role of a store works in stores, the others for the company. `sees_tasks_of` are the roles
    whose tasks it sees beside its own.
    """

    code: str
    label: str
    is_of_store: bool = False
    sees_tasks_of: tuple[str, ...] = ()


ROLES: Final = (
    Role(ASSOCIATE, "Store staff", is_of_store=True),
    Role(MANAGER, "Store manager", is_of_store=True, sees_tasks_of=(ASSOCIATE,)),
    Role(BUYER, "Buyer"),
    Role(LEAD, "Purchasing lead", sees_tasks_of=(BUYER,)),
    Role(PRICING, "Pricing"),
    Role(ANALYST, "Analyst"),
    Role(OPERATOR, "Operator"),
)
