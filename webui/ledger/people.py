"""Who may work here: one Django group per role, and a demo person for each."""

import secrets
from typing import Final

from django.contrib.auth.models import Group, User
from django.db import transaction

ROLES: Final = ("associate", "manager", "buyer", "lead", "pricing", "analyst", "operator")
PASSWORD_BYTES: Final = 9


def create_roles() -> dict[str, Group]:
    """The groups of all roles, made where they are missing."""
    return {role: Group.objects.get_or_create(name=role)[0] for role in ROLES}


def seed_demo_users(password: str | None = None) -> dict[str, str]:
    """A person per role, named like the role; returns name to password.

    Without `password` each gets a new random one, so that no demo has a login that others know.
    """
    logins = {role: password or secrets.token_urlsafe(PASSWORD_BYTES) for role in ROLES}
    with transaction.atomic():
        groups = create_roles()
        for name, secret in logins.items():
            person, _ = User.objects.get_or_create(username=name)
            person.set_password(secret)
            person.save()
            person.groups.set([groups[name]])
    return logins
