"""Find the people of many sessions with a few queries, for the repeated checks of open pages.

Django's `get_user` reads one person per call. With 1,000 open pages, this would be 1,000 queries
per check.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, load_backend
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.utils.crypto import constant_time_compare

from ledger.access.scope import read_grants
from webui.accounts.session_store import SessionStore
from webui.accounts.sessions import end_reason, lacks_second_factor

# Largest number of sessions that one query reads.
MOST_SESSIONS: Final = 500


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The person of a session. Roles and stores of `person` are cached, so they need no query."""

    person: User
    lacks_second_factor: bool


def signed_in(session_keys: Collection[str], now: float) -> dict[str, SignedIn]:
    """Return {session key: the person who is logged in with this session at `now`}.

    `now` is in seconds since 1970 UTC. A session is left out if it has ended or expired, if its
    account was disabled, or if the password has changed. Three queries read 500 sessions.
    """
    keys, found = sorted(set(session_keys)), dict[str, SignedIn]()
    for start in range(0, len(keys), MOST_SESSIONS):
        found |= _signed_in(keys[start : start + MOST_SESSIONS], now)
    return found


def _signed_in(keys: list[str], now: float) -> dict[str, SignedIn]:
    contents = {
        key: content
        for key, content in SessionStore.contents_of(keys).items()
        if SESSION_KEY in content and end_reason(content, now) is None
    }
    numbers = {int(content[SESSION_KEY]) for content in contents.values()}
    people = User.objects.in_bulk(numbers) if numbers else {}
    accepted = {
        key: person
        for key, content in contents.items()
        if (person := people.get(int(content[SESSION_KEY]))) is not None
        and _is_accepted(content, person)
    }
    read_grants(set(accepted.values()))
    return {
        key: SignedIn(person, lacks_second_factor(contents[key], person))
        for key, person in accepted.items()
    }


def _is_accepted(content: Mapping[str, Any], person: User) -> bool:
    """Return True if the account is active, and the session belongs to its present password.

    These are the conditions of `django.contrib.auth.get_user`. A test compares both functions.
    """
    path = content.get(BACKEND_SESSION_KEY, "")
    if path not in settings.AUTHENTICATION_BACKENDS:
        return False
    backend = load_backend(path)
    # A password's change also changes this hash.
    is_current = constant_time_compare(
        content.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash()
    )
    may_log_in = isinstance(backend, ModelBackend) and backend.user_can_authenticate(person)
    return is_current and may_log_in
