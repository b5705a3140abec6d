"""Sessions in which a person is logged in: list them, end one, end all others."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings

from ledger.kernel.transactions import execute, fetch_column
from ledger.kernel.unscoped_rows import read_all
from webui.accounts.attempts import hashed

# {pattern in a User-Agent header: name of the browser or the system}. The first match counts,
# because Edge, for example, also sends the patterns of Chrome and Safari.
_BROWSERS: Final = {
    "Edg": "Edge",
    "OPR": "Opera",
    "SamsungBrowser": "Samsung Internet",
    "Firefox|FxiOS": "Firefox",
    "Chrome|CriOS": "Chrome",
    "Safari": "Safari",
    "curl": "curl",
}
_SYSTEMS: Final = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}
# Condition for open sessions. Its parameter is the result of `longest_idle_s`.
IS_OPEN_SQL: Final = (
    "expire_date > clock_timestamp() AND used_at > clock_timestamp() - make_interval(secs => %s)"
)
_OPEN: Final = f"""
SELECT session_key, browser, source, began_at, used_at FROM app.django_session
WHERE user_id = %s AND {IS_OPEN_SQL}
ORDER BY used_at DESC
"""  # noqa: S608 -- a constant of this module
# A session stores the time of its last use at most once a minute. So its last use can be up to a
# minute later than `used_at`.
_NOTED_EVERY_S: Final = 60


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One session. Pages name it by `number`, because its key would give access to the session."""

    number: str
    browser: str
    source: str
    began_at: datetime
    used_at: datetime
    is_this: bool


@dataclass(frozen=True, slots=True)
class _Session:
    """A row of `app.django_session`."""

    session_key: str
    browser: str
    source: str
    began_at: datetime
    used_at: datetime


def browser_name(agent: str) -> str:
    """Return browser and system of a User-Agent header, for example `Firefox on Windows`."""
    browser = _first(_BROWSERS, agent) or "Unknown browser"
    system = _first(_SYSTEMS, agent)
    return f"{browser} on {system}" if system else browser


def _first(names: dict[str, str], agent: str) -> str:
    return next((name for mark, name in names.items() if re.search(mark, agent)), "")


def longest_idle_s() -> int:
    """Return the age of `used_at`, in seconds, from which a session is no longer open."""
    return int(settings.SESSION_IDLE_S) + _NOTED_EVERY_S


def open_sessions(user_id: int, *, this_key: str | None = None) -> list[OpenSession]:
    """Return the person's open sessions, the most recently used first."""
    found = read_all(_Session, _OPEN, user_id, longest_idle_s())
    return [
        OpenSession(
            _number(session.session_key),
            session.browser,
            session.source,
            session.began_at,
            session.used_at,
            session.session_key == this_key,
        )
        for session in found
    ]


def end_sessions(user_id: int, *, but: str | None = None, number: str | None = None) -> int:
    """End all sessions of a person, or only the session `number`; return how many have ended.

    The session with the key `but`, usually the session of the request, continues.
    """
    keys = fetch_column("SELECT session_key FROM app.django_session WHERE user_id = %s", user_id)
    chosen = [key for key in keys if number is None or _number(key) == number]
    ended = [key for key in chosen if key != but]
    return execute("DELETE FROM app.django_session WHERE session_key = ANY(%s)", ended)


def forget_expired() -> int:
    """Delete all people's expired sessions; return their number."""
    return execute("DELETE FROM app.django_session WHERE expire_date < clock_timestamp()")


def _number(key: str) -> str:
    return hashed("session", key)[:16]
