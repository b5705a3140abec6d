"""Rules about the accounts that a person may manage, and the roles and stores they may give.

Operators who work in every store manage all accounts. Everyone else manages only the staff of their
own stores.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from ledger.access.roles import ASSOCIATE
from ledger.access.scope import Scope, stores_of
from ledger.kernel.errors import refuse
from ledger.messages import Message, gettext_noop
from ledger.people import ROLES
from webui.accounts.person import Person, StoreAccess
from webui.accounts.roles import MANAGE_PEOPLE, abilities

STAFF_ROLES: Final = (ASSOCIATE,)


@dataclass(frozen=True, slots=True)
class AccountManager:
    """A person who manages accounts, with the limits of that right."""

    name: str
    scope: Scope
    manages_all: bool

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that this person may give."""
        return ROLES if self.manages_all else STAFF_ROLES

    def may_manage(self, person: Person) -> bool:
        """Return True if this person may change the account `person`."""
        return person.name != self.name and self._covers(person.roles, person.places)

    def require(self, person: Person) -> None:
        """Raise PermissionDenied unless `may_manage` returns True."""
        if not self.may_manage(person):
            message = gettext_noop(
                "You may not change this account: it is your own, or you don't manage its roles "
                "or stores. Nothing was changed. Ask an operator."
            )
            raise PermissionDenied(message)

    def require_reset(self) -> None:
        """Raise PermissionDenied unless this person may remove another person's second factor.

        Only an operator who works in every store may. Otherwise a store's manager could remove the
        second factor of one of their staff, invite this account again, and log in with the link.
        Then one person could count with that account, and approve the count as manager.
        """
        if not self.manages_all:
            message = gettext_noop(
                "Only an operator who works in every store can remove a second factor. Nothing "
                "was changed. Ask an operator of all stores, who will first check that the phone "
                "is really lost."
            )
            raise PermissionDenied(message)

    def require_choice(self, roles: Collection[str], places: StoreAccess) -> None:
        """Raise `ServiceError` if a manager of staff has picked no role or no store.

        A manager who works in every store needn't pick a store.
        """
        if self.manages_all:
            return
        if not roles:
            refuse("roles", None, gettext_noop("choose at least one"))
        if not (self.scope.everywhere or places.stores):
            refuse("stores", None, gettext_noop("choose at least one"))

    def require_grant(self, roles: Collection[str], places: StoreAccess) -> None:
        """Raise PermissionDenied for roles or stores that this person may not give."""
        if not self._covers(roles, places):
            message = Message(
                "You may give only the roles %(roles)s, and only in your own stores. Nothing was "
                "changed. For other roles or stores, ask an operator.",
                roles=", ".join(self.roles),
            )
            raise PermissionDenied(message)

    def _covers(self, roles: Collection[str], places: StoreAccess) -> bool:
        if self.manages_all:
            return True
        is_staff = bool(roles) and set(roles) <= set(STAFF_ROLES)
        if self.scope.everywhere:
            return is_staff
        own = bool(places.stores) and all(self.scope.allows(code) for code in places.stores)
        return is_staff and own and not places.everywhere and not places.regions


def account_manager_of(user: User) -> AccountManager:
    """Return the logged-in person as a manager of accounts.

    An operator who works in every store manages all accounts. Every other person, also an operator
    of some stores, manages only the staff of their own stores.
    """
    scope = stores_of(user)
    manages_all = MANAGE_PEOPLE in abilities(user) and scope.everywhere
    return AccountManager(user.get_username(), scope, manages_all)
