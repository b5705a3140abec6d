"""Database sessions of Django with columns for person, browser, source and last use.

The columns repeat values of the session's content. SQL can't read the content, which is encoded.
"""

from collections.abc import Collection
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import connection, transaction
from django.utils import timezone
from typing_extensions import override

BEGAN = "began_at"
ACTIVE = "active_at"
BROWSER = "browser"
SOURCE = "source"
_NOTE = """
UPDATE app.django_session SET user_id = %s, browser = %s, source = %s,
    began_at = coalesce(to_timestamp(%s), began_at),
    used_at = coalesce(to_timestamp(%s), clock_timestamp())
WHERE session_key = %s
"""


class SessionStore(DatabaseStore):
    """A database session that also writes the columns person, browser, source and last use."""

    def __init__(self, session_key: str | None = None) -> None:
        """Ignore a key that isn't made of ASCII letters and digits.

        The key comes from a cookie, which may hold any text, even U+0000.
        """
        is_key = session_key is not None and session_key.isascii() and session_key.isalnum()
        super().__init__(session_key if is_key else None)

    @classmethod
    def contents_of(cls, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the content of each stored session among `keys`, by key, with one query.

        An expired session is left out. A session whose content is damaged is {}.
        """
        stored = cls.get_model_class().objects.filter(
            session_key__in=keys, expire_date__gt=timezone.now()
        )
        return {each.session_key: cls().decode(each.session_data) for each in stored}

    @override
    def load(self) -> dict[str, Any]:
        """Return the content of this session. If it isn't stored, drop its key and return {}."""
        key = self.session_key or ""
        found = self.contents_of([key]) if key else {}
        if not found:
            self._session_key = None
        return found.get(key, {})

    @override
    def save(self, must_create: bool = False) -> None:
        """Store content and columns in one transaction."""
        with transaction.atomic():
            super().save(must_create)
            person = self.get(SESSION_KEY)
            if person is not None:
                self._note(int(person))

    @override
    async def asave(self, must_create: bool = False) -> None:
        """Store content and columns for an asynchronous caller."""
        await sync_to_async(self.save)(must_create)

    def _note(self, user_id: int) -> None:
        used = (self.get(BROWSER, ""), self.get(SOURCE, ""), self.get(BEGAN), self.get(ACTIVE))
        with connection.cursor() as cursor:
            cursor.execute(_NOTE, [user_id, *used, self.session_key])
