"""Roles, memberships and regions in the database, and one demo person per role."""

import secrets
from typing import Final

from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from ledger.access import roles

ROLES: Final = tuple(role.code for role in roles.ROLES)
STORE_ROLES: Final = frozenset(role.code for role in roles.ROLES if role.is_of_store)
PASSWORD_BYTES: Final = 9
DEMO_STORE: Final = "BERLIN-1"
DEMO_REGION: Final = "DE"
_REGIONS: Final = {"BERLIN-1": DEMO_REGION, "HAMBURG-1": DEMO_REGION}
_SET_REGION: Final = """
INSERT INTO app.location_region (location, region) VALUES (%s, %s)
ON CONFLICT (location) DO UPDATE SET region = excluded.region
"""


def create_roles() -> dict[str, Group]:
    """Create the Django groups of roles that have none; return the groups of all roles by code."""
    return {role: Group.objects.get_or_create(name=role)[0] for role in ROLES}


def write_memberships(
    person: User,
    *,
    everywhere: bool = False,
    stores: tuple[str, ...] = (),
    regions: tuple[str, ...] = (),
    granted_by: str | None = None,
) -> None:
    """Replace a person's memberships. With the defaults the person has no store afterwards.

    A membership gives the person one store, the stores of a region, or all stores. `granted_by` is
    the user name of the person who grants the memberships, None for a program.
    """
    rows = [("everywhere", "")] if everywhere else []
    rows += [("store", code) for code in stores] + [("region", code) for code in regions]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM app.membership WHERE person_id = %s", [person.pk])
        for kind, code in dict.fromkeys(rows):
            cursor.execute(
                "INSERT INTO app.membership (person_id, kind, code, granted_by)"
                " VALUES (%s, %s, %s, %s)",
                [person.pk, kind, code, granted_by],
            )


def write_region(location: str, region: str) -> None:
    """Assign a location to a region; an earlier region of the location is replaced."""
    with connection.cursor() as cursor:
        cursor.execute(_SET_REGION, [location, region])


def seed_demo_users(password: str | None = None, *, everywhere: bool = False) -> dict[str, str]:
    """Create or reset one person per role, named like the role; return passwords by user name.

    Without `password`, each person gets a new random password, so that no demo has a publicly known
    login. The associate works in BERLIN-1. The manager works in region DE, which is BERLIN-1 and
    HAMBURG-1. All other roles work in every store. `everywhere` gives every person all stores.
    """
    logins = {role: password or secrets.token_urlsafe(PASSWORD_BYTES) for role in ROLES}
    with transaction.atomic():
        groups = create_roles()
        for location, region in _REGIONS.items():
            write_region(location, region)
        for name, secret in logins.items():
            person, _ = User.objects.get_or_create(username=name)
            person.set_password(secret)
            person.save()
            person.groups.set([groups[name]])
            if everywhere or name not in STORE_ROLES:
                write_memberships(person, everywhere=True)
            elif name == roles.MANAGER:
                write_memberships(person, regions=(DEMO_REGION,))
            else:
                write_memberships(person, stores=(DEMO_STORE,))
    return logins
