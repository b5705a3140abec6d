"""Accounts with their roles, memberships and sessions, as pages and commands show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext

from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import gettext_noop
from webui.accounts import second_factor
from webui.accounts.open_sessions import IS_OPEN_SQL, longest_idle_s


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """A person's memberships: in all stores (`everywhere`), or in some stores and regions."""

    everywhere: bool = False
    stores: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `ServiceError` for a malformed code, or if codes are given with `everywhere`."""
        if self.everywhere and (self.stores or self.regions):
            refuse(
                "stores",
                self.text,
                gettext_noop("leave stores and regions empty for a person who works everywhere"),
            )
        for field, codes in (("stores", self.stores), ("regions", self.regions)):
            for code in codes:
                if checks.location_problem(code):
                    refuse(
                        field, code, gettext_noop("codes of 1 to 24 characters of A-Z, 0-9 and -")
                    )

    @property
    def text(self) -> str:
        """Return the memberships in one line: `everywhere`, `BERLIN-1, region DE` or `no store`."""
        parts = [
            *self.stores,
            *(gettext("region %(code)s") % {"code": code} for code in self.regions),
        ]
        return gettext("everywhere") if self.everywhere else ", ".join(parts) or gettext("no store")


@dataclass(frozen=True, slots=True)
class Person:
    """An account with its roles and memberships.

    `second_factor` is `none`, `set` or `unreadable`. `sessions` is the number of open sessions.
    """

    name: str
    is_active: bool
    has_password: bool
    last_login: datetime | None
    roles: tuple[str, ...]
    places: StoreAccess
    invited_until: datetime | None
    second_factor: str
    second_factor_since: datetime | None
    sessions: int

    @property
    def version(self) -> str:
        """Return a text that changes with the account's roles, memberships and `is_active`.

        A form contains this text and sends it back. If the account has another text by then,
        another person has changed it meanwhile.
        """
        state = "active" if self.is_active else "disabled"
        return f"{state}; {','.join(self.roles)}; {self.places.text}"

    @property
    def second_factor_mark(self) -> str:
        """Return a text that changes with the authenticator; an empty text without one."""
        return "" if self.second_factor_since is None else self.second_factor_since.isoformat()


@dataclass(frozen=True, slots=True)
class _Account:
    """A row of the query `_PEOPLE`."""

    id: int
    name: str
    is_active: bool
    has_password: bool
    last_login: datetime | None
    roles: Sequence[str]
    everywhere: bool
    stores: Sequence[str]
    regions: Sequence[str]
    invited_until: datetime | None
    sessions: int
    second_factor_since: datetime | None


_PEOPLE: Final = f"""
SELECT u.id, u.username AS name, u.is_active, u.password <> '' AND u.password NOT LIKE '!%%'
           AS has_password, u.last_login,
       ARRAY(SELECT g.name::text FROM app.auth_user_groups m
             JOIN app.auth_group g ON g.id = m.group_id
             WHERE m.user_id = u.id ORDER BY 1) AS roles,
       EXISTS (SELECT FROM app.membership WHERE person_id = u.id AND kind = 'everywhere')
           AS everywhere,
       ARRAY(SELECT code FROM app.membership WHERE person_id = u.id AND kind = 'store' ORDER BY 1)
           AS stores,
       ARRAY(SELECT code FROM app.membership WHERE person_id = u.id AND kind = 'region' ORDER BY 1)
           AS regions,
       (SELECT max(expires_at) FROM app.invitation
        WHERE person_id = u.id AND used_at IS NULL AND expires_at > clock_timestamp())
           AS invited_until,
       (SELECT count(*) FROM app.django_session
        WHERE user_id = u.id AND {IS_OPEN_SQL}) AS sessions,
       (SELECT confirmed_at FROM app.second_factor WHERE user_id = u.id) AS second_factor_since
FROM app.auth_user u WHERE (%s = '' OR u.username = %s) ORDER BY u.username
"""  # noqa: S608 -- constants of this project


def all_people() -> list[Person]:
    """Return every account, sorted by name."""
    return [_person(account) for account in _accounts("")]


def person_named(name: str) -> Person:
    """Return the account of this name; raise `ServiceError` if there is none."""
    found = _accounts(name) if name else []
    if not found:
        refuse("person", name, gettext_noop("the name of an account"))
    return _person(found[0])


def _accounts(name: str) -> list[_Account]:
    """Return the account of this name, or all accounts for an empty text."""
    return read_all(_Account, _PEOPLE, longest_idle_s(), name, name)


def _person(account: _Account) -> Person:
    return Person(
        account.name,
        account.is_active,
        account.has_password,
        account.last_login,
        tuple(account.roles),
        StoreAccess(account.everywhere, tuple(account.stores), tuple(account.regions)),
        account.invited_until,
        second_factor.state_of(account.id) if account.second_factor_since else "none",
        account.second_factor_since,
        account.sessions,
    )
