"""Login on the command line: the password of a person, and the code of their second factor.

A review needs two people, so a name alone is not enough. Wrong attempts count towards the same
limits as those on the login page.
"""

import sys
from getpass import getpass
from typing import TYPE_CHECKING, Final

from deploy.errors import StackError

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_SOURCE: Final = "command line"


def logged_in_person(name: str) -> str:
    """Check a person's password, and the code of their second factor. Return the user name.

    Read both from a prompt, or as lines from standard input. Django must be set up.

    Raises:
        StackError: name, password or code is wrong or missing, or there were too many attempts.
    """
    from django.contrib.auth import authenticate  # noqa: PLC0415 -- needs Django set up

    from webui.accounts import attempts, audit, second_factor  # noqa: PLC0415 -- as above

    attempt = attempts.begin(name, source=_SOURCE, device=None)
    if attempt.blocked_for_s:
        message = f"too many attempts to log in as {name}: wait {attempt.blocked_for_s} s"
        raise StackError(message)
    user = authenticate(username=name, password=_secret("password", name))
    if user is None:
        audit.note("login_failed", audit.account_of(name), source=_SOURCE)
        raise _refused(name, "name or password")
    attempts.succeeded(attempt)
    if second_factor.is_enrolled(user):
        _check_code(user)
    elif second_factor.is_required(user):
        message = f"{name} has to set up a second factor first, on the pages; nothing was written"
        raise StackError(message)
    return str(user.get_username())


def _check_code(user: "User") -> None:
    from webui.accounts import attempts, audit, second_factor  # noqa: PLC0415 -- needs Django set up
    from webui.accounts.encryption import SecretUnreadable  # noqa: PLC0415 -- as above

    name = user.get_username()
    attempt = attempts.begin_code(user.pk)
    if attempt.blocked_for_s:
        message = f"too many codes for {name}: wait {attempt.blocked_for_s} s"
        raise StackError(message)
    try:
        factor = second_factor.accept(user, _secret("one-time code", name))
    except SecretUnreadable as error:
        audit.note("second_factor_unreadable", user, source=_SOURCE)
        message = (
            f"the authenticator of {name} was encrypted with another secret key; nothing was "
            "written"
        )
        raise StackError(message, repair=f"inventory people reset-second-factor {name}") from error
    if factor is None:
        audit.note("second_factor_failed", user, source=_SOURCE)
        raise _refused(name, "one-time code")
    attempts.succeeded(attempt)


def _secret(what: str, name: str) -> str:
    if sys.stdin.isatty():
        found = getpass(f"{what.capitalize()} of {name}: ")
    else:
        found = sys.stdin.readline().rstrip("\r\n")
    if not found:
        message = (
            f"no {what} of {name} was given; nothing was written. Type the {what} at the prompt. A "
            "script passes the password, and then a one-time code, as lines of standard input"
        )
        raise StackError(message)
    return found


def _refused(name: str, what: str) -> StackError:
    message = f"wrong {what} for {name}; nothing was written"
    return StackError(message, repair="inventory people list")
