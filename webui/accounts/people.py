"""Commands for accounts: create, invite, disable, enable; roles, stores and passwords.

Pages and the command `inventory people` call these functions. Each change writes an entry to
the audit log. No function returns or logs a password; an invitation's token is returned once.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from ledger.access.roles import OPERATOR
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.transactions import execute, ledger_transaction, log_action
from ledger.messages import Message, gettext_noop
from ledger.people import ROLES, create_roles, write_memberships, write_region
from webui.accounts import second_factor
from webui.accounts.api_tokens import (
    ApiToken,
    NewToken,
    create_token,
    end_token,
    end_tokens,
    end_tokens_of_person,
    tokens_of,
)
from webui.accounts.invitations import Invitation, end_invitations, new_invitation
from webui.accounts.open_sessions import OpenSession, end_sessions, open_sessions
from webui.accounts.person import Person, StoreAccess, person_named

LONGEST_NAME: Final = 150
# A name has no spaces, because lists, messages and the audit log show it within other text.
# Accounts of earlier releases may have other names.
_NAME_FORM: Final = re.compile(r"[\w.@-]+")


def add_person(*, name: str, roles: Collection[str], places: StoreAccess, actor: str) -> Invitation:
    """Create an account without a password; return an invitation to set the password."""
    with ledger_transaction():
        user = _added(name, roles, places, actor)
        return new_invitation(user.pk, name, actor)


def add_service(*, name: str, roles: Collection[str], places: StoreAccess, actor: str) -> None:
    """Create an account for another system. The system uses tokens and can't log in."""
    with ledger_transaction():
        _added(name, roles, places, actor)


def _added(name: str, roles: Collection[str], places: StoreAccess, actor: str) -> User:
    """Write and return an account without a password, inside the caller's transaction.

    Raises:
        ServiceError: name, roles, stores or regions are malformed.
        Conflict: an account has this name already, in upper or lower case.
    """
    checks.text("person", name, longest=LONGEST_NAME)
    # A login normalizes the typed name. So nobody could log in to an account whose name isn't
    # normalized.
    if not _NAME_FORM.fullmatch(name) or name != User.normalize_username(name):
        refuse("person", name, gettext_noop("letters, digits and . - _ @ only, without spaces"))
    _check_roles(roles)
    places.check()
    if User.objects.filter(username__iexact=name).exists():
        message = Message("%(name)s has an account already", name=name)
        raise Conflict(message)
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    _write_roles(user, roles)
    _write_store_access(user, places, actor)
    detail = {"roles": sorted(roles), "places": places.text}
    log_action(actor=actor, action="add_person", subject=name, detail=detail)
    return user


def invite_person(*, name: str, actor: str) -> Invitation:
    """Return a new link for setting a password; the person's earlier links end."""
    with ledger_transaction():
        user = _locked(name)
        if not user.is_active:
            message = Message("%(name)s is disabled: enable the account first", name=name)
            raise Conflict(message)
        return new_invitation(user.pk, name, actor)


def disable_person(*, name: str, actor: str) -> None:
    """Disable an account: its sessions, open pages, invitations and tokens end."""
    with ledger_transaction():
        user = _locked(name)
        _refuse_last_operator(
            user,
            gettext_noop(
                "%(get_username)s is the last active operator and can't be disabled: "
                "give another person the role operator first"
            ),
        )
        user.is_active = False
        user.save(update_fields=["is_active"])
        end_invitations(user.pk)
        detail = {"sessions": end_sessions(user.pk), "tokens": end_tokens(user.pk, actor)}
        log_action(actor=actor, action="disable_person", subject=name, detail=detail)


def enable_person(*, name: str, actor: str) -> None:
    """Enable an account again, with its former password."""
    with ledger_transaction():
        user = _locked(name)
        user.is_active = True
        user.save(update_fields=["is_active"])
        log_action(actor=actor, action="enable_person", subject=name)


def set_roles(*, name: str, roles: Collection[str], actor: str) -> None:
    """Replace the roles of a person; the new ones apply from the next request on.

    A new role that needs a second factor ends the person's tokens.
    """
    _check_roles(roles)
    with ledger_transaction():
        user = _locked(name)
        before = sorted(user.groups.values_list("name", flat=True))
        if OPERATOR not in roles:
            _refuse_last_operator(
                user,
                gettext_noop(
                    "%(get_username)s is the last active operator and can't lose this role: give "
                    "the role to another person first"
                ),
            )
        _write_roles(user, roles)
        detail: dict[str, object] = {"roles": [before, sorted(roles)]}
        if ({*roles} - {*before}) & {*settings.SECOND_FACTOR_ROLES}:
            # A password alone was enough to create these tokens (decision 0026).
            detail["tokens"] = end_tokens_of_person(user, actor)
        log_action(actor=actor, action="set_roles", subject=name, detail=detail)


def set_store_access(*, name: str, places: StoreAccess, actor: str) -> None:
    """Replace the stores and regions of a person; the new ones apply from the next request on."""
    places.check()
    with ledger_transaction():
        user = _locked(name)
        before = person_named(name).places
        _write_store_access(user, places, actor)
        detail = {"places": [before.text, places.text]}
        log_action(actor=actor, action="set_places", subject=name, detail=detail)


def set_password(*, name: str, password: str, actor: str) -> None:
    """Set a password that passes the rules; end the person's sessions, invitations and tokens."""
    with ledger_transaction():
        user = _locked(name)
        check_password_rules(password, user)
        detail = {"sessions": end_sessions(user.pk), "tokens": end_tokens_of_person(user, actor)}
        user.set_password(password)
        user.save(update_fields=["password"])
        end_invitations(user.pk)
        log_action(actor=actor, action="set_password", subject=name, detail=detail)


def reset_second_factor(*, name: str, actor: str) -> bool:
    """Remove a person's authenticator, for example after the loss of a phone.

    The person's sessions and tokens end. Return True if there was an authenticator.
    """
    with ledger_transaction():
        user = _locked(name)
        had_one = second_factor.reset(user.pk)
        tokens = end_tokens_of_person(user, actor)
        detail = {"removed": had_one, "sessions": end_sessions(user.pk), "tokens": tokens}
        log_action(actor=actor, action="reset_second_factor", subject=name, detail=detail)
    return had_one


def sessions_of(name: str) -> list[OpenSession]:
    """Return the open sessions of a person; raise `ServiceError` if there is no such account."""
    with ledger_transaction():
        return open_sessions(_locked(name).pk)


def end_sessions_of(*, name: str, actor: str) -> int:
    """End the sessions and tokens of an account; return the number of ended sessions."""
    with ledger_transaction():
        user = _locked(name)
        ended = end_sessions(user.pk)
        detail = {"sessions": ended, "tokens": end_tokens(user.pk, actor)}
        log_action(actor=actor, action="end_sessions", subject=name, detail=detail)
    return ended


def create_token_of(
    *, name: str, token: str, scopes: Collection[str], days: int, actor: str
) -> NewToken:
    """Write a token named `token` for an account; return it with its text.

    The text is not stored, so only this call returns it.

    Raises:
        ServiceError: there is no such account, or name, scopes or days are not valid.
        Conflict: the account is disabled or has 20 valid tokens.
    """
    with ledger_transaction():
        user = _locked(name)
        if not user.is_active:
            message = Message("%(name)s is disabled: enable the account first", name=name)
            raise Conflict(message)
        return create_token(person=user, name=token, scopes=scopes, days=days, actor=actor)


def tokens_of_person(name: str) -> list[ApiToken]:
    """Return the tokens of an account; raise `ServiceError` if there is no such account."""
    with ledger_transaction():
        return tokens_of(_locked(name).pk)


def end_token_of(*, name: str, number: int, actor: str) -> bool:
    """End a token of an account; return False if there is no such token or it has ended already."""
    with ledger_transaction():
        return end_token(person=_locked(name), number=number, actor=actor)


def set_region(*, location: str, region: str, actor: str) -> None:
    """Put a location into a region."""
    for field, code in (("location", location), ("region", region)):
        if checks.location_problem(code):
            refuse(field, code, gettext_noop("a code of 1 to 24 characters of A-Z, 0-9 and -"))
    with ledger_transaction():
        write_region(location, region)
        log_action(actor=actor, action="set_region", subject=location, detail={"region": region})


def check_password_rules(password: str, user: User) -> None:
    """Raise `ServiceError` for a password that breaks a rule. The error has no password in it."""
    try:
        validate_password(password, user)
    except ValidationError as problem:
        refuse("password", None, " ".join(problem.messages).removesuffix("."))


@contextmanager
def locked_person(name: str) -> Iterator[Person]:
    """Lock and yield an account. Until the `with` block ends, no other transaction changes it."""
    with ledger_transaction():
        _locked(name)
        yield person_named(name)


def _locked(name: str) -> User:
    user = User.objects.select_for_update().filter(username=name).first()
    if user is None:
        refuse("person", name, gettext_noop("the name of an account"))
    return user


def _check_roles(roles: Collection[str]) -> None:
    if not roles:
        refuse("roles", "", Message("at least one of %(roles)s", roles=", ".join(ROLES)))
    for role in roles:
        checks.one_of("roles", role, ROLES)


def _write_roles(user: User, roles: Collection[str]) -> None:
    groups = create_roles()
    user.groups.set([groups[role] for role in roles])


def _write_store_access(user: User, places: StoreAccess, actor: str) -> None:
    write_memberships(
        user,
        everywhere=places.everywhere,
        stores=places.stores,
        regions=places.regions,
        granted_by=actor,
    )


def _refuse_last_operator(user: User, why: str) -> None:
    """Raise `Conflict` with the text `why` if `user` is the only active operator.

    An advisory lock lets one transaction at a time check this. Otherwise the last two operators
    could disable each other at the same moment.
    """
    execute("SELECT pg_advisory_xact_lock(hashtextextended('last operator', 18))")
    operators = User.objects.filter(is_active=True, groups__name=OPERATOR)
    is_one = operators.filter(pk=user.pk).exists()
    if is_one and not operators.exclude(pk=user.pk).exists():
        raise Conflict(Message(why, get_username=user.get_username()))
