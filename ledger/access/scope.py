"""The scope of a request: the stores whose rows its person may read and change.

During a request, `webui.accounts.gate` sets the scope to the stores of the signed-in person. Jobs,
commands and tests have no person; their scope is all stores. Decision 0025 has the rules.

* `narrowing` limits every SELECT of a page to the scope.
* Services lock a row, and then call `require_store` with the row's location.
* A membership (`app.membership`) gives a person one store, the stores of a region, or all stores.
  A person without a membership has no store at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import connection

from ledger.messages import Message, gettext_noop

if TYPE_CHECKING:  # models can't be imported before Django is set up
    from django.contrib.auth.models import AnonymousUser, User

T = TypeVar("T")
_KNOWN: Final = "_known_grants"


@dataclass(frozen=True, slots=True)
class Scope:
    """The locations that a person works for: all if `everywhere`, else `stores`."""

    everywhere: bool
    stores: frozenset[str] = frozenset()

    def allows(self, location: str) -> bool:
        """Return True if the location belongs to the scope."""
        return self.everywhere or location in self.stores

    def allows_key(self, inv_key: str) -> bool:
        """Return True if the location of the key `LOCATION|SKU` belongs to the scope."""
        return self.allows(inv_key.partition("|")[0])


EVERYWHERE: Final = Scope(everywhere=True)
NOWHERE: Final = Scope(everywhere=False)
_CURRENT: Final[ContextVar[Scope]] = ContextVar("scope", default=EVERYWHERE)


class OutOfScope(PermissionDenied):
    """Refusal of data that belong to a store outside the scope.

    Nothing was written. Pages answer with 403.
    """


class RowOutOfScope(OutOfScope):
    """Refusal of a row that belongs to a store outside the scope.

    The request had only the row's id and no location, so the message doesn't name the store.
    """


@dataclass(frozen=True, slots=True)
class Grants:
    """The role codes and the scope of a person."""

    roles: frozenset[str]
    scope: Scope


NO_GRANTS: Final = Grants(frozenset(), NOWHERE)
_GRANTS: Final = """
SELECT p.id,
       ARRAY(SELECT g.name FROM app.auth_user_groups m JOIN app.auth_group g ON g.id = m.group_id
             WHERE m.user_id = p.id) AS roles,
       EXISTS (SELECT FROM app.membership WHERE person_id = p.id AND kind = 'everywhere')
           AS everywhere,
       ARRAY(SELECT code FROM app.membership WHERE person_id = p.id AND kind = 'store'
             UNION
             SELECT l.location FROM app.membership m
             JOIN app.location_region l ON l.region = m.code
             WHERE m.person_id = p.id AND m.kind = 'region') AS stores
FROM unnest(%(people)s::integer[]) AS p (id)
"""


def grants_of(person: User | AnonymousUser) -> Grants:
    """Return the roles and the stores of a person. An anonymous or inactive person has none.

    The first call reads roles and stores with one query, and caches them on the object `person`.
    Each request loads a new object.
    """
    if not person.is_authenticated or not person.is_active:
        return NO_GRANTS
    if not hasattr(person, _KNOWN):
        read_grants([person])
    known: Grants = getattr(person, _KNOWN)
    return known


def read_grants(people: Collection[User]) -> None:
    """Read the roles and the stores of `people` with one query, and cache them for `grants_of`.

    A caller who needs the grants of many people calls this first. The cache is on the `User`
    objects. Each request and each check loads new `User` objects, so the cached grants are never
    outdated.
    """
    if not people:
        return
    with connection.cursor() as cursor:
        cursor.execute(_GRANTS, {"people": [person.pk for person in people]})
        found = {number: rest for number, *rest in cursor.fetchall()}
    for person in people:
        roles, everywhere, stores = found[person.pk]
        everywhere = everywhere or person.is_superuser
        scope = EVERYWHERE if everywhere else Scope(everywhere=False, stores=frozenset(stores))
        setattr(person, _KNOWN, Grants(frozenset(roles), scope))


def stores_of(person: User | AnonymousUser) -> Scope:
    """Return the scope of a person: the stores whose rows the person may read and change."""
    return grants_of(person).scope


def current() -> Scope:
    """Return the scope of the running request: the stores of the person who made it.

    Outside of a request, return `EVERYWHERE`.
    """
    return _CURRENT.get()


def enter(scope: Scope) -> None:
    """Set the scope of the current context (thread or task), until the next call."""
    _CURRENT.set(scope)


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    """Set the scope to `scope` inside the block, then restore the previous one."""
    token = _CURRENT.set(scope)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def bound(parts: Iterator[T], scope: Scope) -> Iterator[T]:
    """Yield the items of `parts`; compute each of them within `scope`.

    Streamed responses need this: their body is computed after the scope of the request has ended.
    """
    while True:
        with within(scope):
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part


def require_store(location: str, *, field: str = "location") -> None:
    """Raise `OutOfScope` for a location that is not in the current scope.

    If the request itself contained the location, `field` is the name of its field, and the message
    names the location. Otherwise pass `field=""`: the message then doesn't reveal the store, and
    the error is `RowOutOfScope`.
    """
    if not current().allows(location):
        kind = OutOfScope if field else RowOutOfScope
        raise kind(_refusal(location, field))


def require_key(inv_key: str, *, field: str = "") -> None:
    """Raise `OutOfScope` unless the location of `LOCATION|SKU` is in the current scope.

    `field` has the same meaning as in `require_store`.
    """
    require_store(inv_key.partition("|")[0], field=field)


def require_either(first: str, second: str) -> None:
    """Raise `OutOfScope` if neither of two locations is in the current scope."""
    if not current().allows(first):
        require_store(second, field="")


def require_company() -> None:
    """Raise `OutOfScope` unless the person works for all stores.

    Call this before a change of something that applies to all stores.
    """
    if not current().everywhere:
        message = gettext_noop(
            "This page or action applies to every store, but you don't work for all of them. "
            "Nothing was changed. Ask a person who works for the whole company."
        )
        raise OutOfScope(message)


def _refusal(location: str, field: str) -> str:
    if not field:
        return gettext_noop(
            "This record belongs to a store that is not one of yours. Nothing was changed. "
            "Choose one of your own stores, or ask an operator to give you access to this store."
        )
    return Message(
        "%(location)s is not one of your stores. Nothing was changed. "
        "Choose one of your own stores, or ask an operator to give you access to this store.",
        location=location,
    )
