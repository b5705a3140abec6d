"""Check which keys the event stream of a page may follow.

`sign_keys` signs the keys of a page, so that a client can't add keys. `refusals` checks many
streams at once: when they open, and every few seconds while they are open. This function needs
three queries for 500 sessions, however many streams they have.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.core import signing
from django.db import connection

from ledger.access.scope import stores_of
from webui.accounts.signed_in import SignedIn, signed_in

SALT: Final = "webui.live.keys"
MOST_KEYS: Final = 200
TOKEN_AGE_S: Final = 12 * 3600


@dataclass(frozen=True, slots=True)
class Asked:
    """The keys that a page wants to follow, its session, and the user for whom the page was made.

    `user_id` is None if the keys lack a valid signature.
    """

    session_key: str
    user_id: int | None
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The HTTP status and the text for a page that may not follow its keys."""

    status: int
    text: str


LOGGED_OUT: Final = Refusal(401, "log in first")
NO_SECOND_FACTOR: Final = Refusal(403, "set up your second factor first")
NOT_SIGNED: Final = Refusal(403, "the page is too old or was changed: reload it")
OTHER_USER: Final = Refusal(403, "this page was made for another user: reload it")
OTHER_STORE: Final = Refusal(403, "this page shows a store that is not yours: reload it")


def sign_keys(user_id: int, keys: list[str]) -> str:
    """Return a page's keys (the first 200) as a signed token for the URL of its event stream."""
    return signing.dumps({"u": user_id, "k": keys[:MOST_KEYS]}, salt=SALT, compress=True)


def asked_by(session_key: str, token: str) -> Asked:
    """Return the keys and the user in a page's token, with the session of the request.

    If the token has no valid signature or is over 12 hours old, the user is None and there are no
    keys.
    """
    try:
        interest = signing.loads(token, salt=SALT, max_age=TOKEN_AGE_S)
    except signing.BadSignature:
        return Asked(session_key, None, frozenset())
    return Asked(session_key, interest["u"], frozenset(interest["k"]))


def refusals(asked: Sequence[Asked]) -> list[Refusal | None]:
    """Return for each page the refusal of its keys, or None if the page may follow them.

    Read session, account, second factor and stores from the database, as they are now. Then close
    the database connection.

    Raises:
        DatabaseError: the database didn't answer.
    """
    try:
        people = signed_in({each.session_key for each in asked}, time.time())
        # Many pages of one session can show the same list, so check equal ones once.
        found = {each: _refusal(each, people.get(each.session_key)) for each in set(asked)}
        return [found[each] for each in asked]
    finally:
        connection.close()


def _refusal(asked: Asked, signed: SignedIn | None) -> Refusal | None:
    if signed is None:
        return LOGGED_OUT
    if signed.lacks_second_factor:
        return NO_SECOND_FACTOR
    if asked.user_id is None:
        return NOT_SIGNED
    if asked.user_id != signed.person.pk:
        return OTHER_USER
    scope = stores_of(signed.person)
    return None if all(scope.allows_key(key) for key in asked.keys) else OTHER_STORE
