"""Signed cookie by which the login recognises a browser that was logged in to an account before.

The cookie holds a random id and keyed hashes of up to twenty accounts: people share the tills and
tablets of a store. The cookie alone gives no access. But wrong passwords that are typed in other
browsers don't block the account in a browser with this cookie.
"""

import secrets
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from webui.accounts.attempts import hashed

COOKIE: Final = "device"
_SALT: Final = "webui.accounts.devices"
_AGE_S: Final = 90 * 86_400
_MOST_ACCOUNTS: Final = 20


def device_of(request: HttpRequest, account: str) -> str | None:
    """Return the browser's id if it has logged in to `account` before, else None."""
    known = _read(request)
    return str(known["id"]) if _mark(account) in known["accounts"] else None


def remember(request: HttpRequest, response: HttpResponse, account: str) -> None:
    """Add `account` to the browser's cookie, which keeps the newest twenty accounts."""
    known = _read(request)
    others = [mark for mark in known["accounts"] if mark != _mark(account)]
    accounts = [*others, _mark(account)][-_MOST_ACCOUNTS:]
    response.set_cookie(
        COOKIE,
        signing.dumps({"id": known["id"], "accounts": accounts}, salt=_SALT),
        max_age=_AGE_S,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
        path="/login/",
    )


def _mark(account: str) -> str:
    return hashed("device", account)[:16]


def _read(request: HttpRequest) -> dict[str, Any]:
    """Return the cookie's content, or a new id without accounts if there is no valid cookie."""
    try:
        content = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=_AGE_S)
    except signing.BadSignature:
        return {"id": secrets.token_urlsafe(12), "accounts": []}
    return dict(content)
