"""Requests for pages as a person of a role, without a browser."""

import time
from importlib import import_module
from typing import Any
from uuid import uuid4

from django.test import Client, override_settings


def person(
    role: str, name: str = "", *, stores: tuple[str, ...] = (), regions: tuple[str, ...] = ()
) -> Client:
    """Return a client with a session of this role, in every store unless some are given."""
    # Django's models can be imported only after the fixture has set Django up.
    people = import_module("ledger.people")
    # `create_roles` runs seven queries. Skip it if an earlier test has created the groups.
    group = people.Group.objects.filter(name=role).first() or people.create_roles()[role]
    user, _ = people.User.objects.get_or_create(username=name or role)
    user.groups.set([group])
    everywhere = not stores and not regions
    people.write_memberships(user, everywhere=everywhere, stores=stores, regions=regions)
    return logged_in(user)


def logged_in(user: Any) -> Client:
    """Return a client with a session of this person."""
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    # Set the session as after a login with a second factor. test_logins.py tests real logins.
    session = client.session
    session["second_factor_at"] = session["began_at"] = session["active_at"] = time.time()
    session.save()
    return client


def with_static_files() -> override_settings:
    """Let test clients created in the block get static files, too, as from the web server."""
    return override_settings(MIDDLEWARE=import_module("webui.config.settings").MIDDLEWARE)


def form(proposal: object, shown: object, **fields: object) -> dict[str, Any]:
    """Return the form of a desk's row: its hidden fields, and `fields`, as texts."""
    hidden = {"proposal": proposal, "shown_revision": shown, "command_id": uuid4(), "action": "x"}
    return {name: str(field) for name, field in {**hidden, **fields}.items()}
