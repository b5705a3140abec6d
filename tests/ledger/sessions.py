"""Sessions of the test database, one for each role, which tests use one after another."""

import psycopg

from tests.ledger.postgres import Server


class Sessions:
    """Open sessions by role. A test gets a session in the state of a new one.

    Sessions are reused, because a new session of Postgres first reads the catalogue of 50 tables.
    That takes longer than the statements of most tests.
    """

    def __init__(self, server: Server, database: str) -> None:
        self._server = server
        self._database = database
        self._open: dict[str, psycopg.Connection] = {}
        self._taken: set[str] = set()

    def take(self, role: str) -> psycopg.Connection:
        """Return the role's session in autocommit mode."""
        self._taken.add(role)
        if role not in self._open or self._open[role].closed:
            # No prepared statements: psycopg would still use them after DISCARD ALL deleted them.
            self._open[role] = psycopg.connect(
                self._server.url(role, self._database), autocommit=True, prepare_threshold=None
            )
        return self._open[role]

    def give_back(self) -> None:
        """End the transactions, locks and settings that a test left in its sessions."""
        for role in self._taken:
            if not self._open[role].closed:
                self._open[role].rollback()
                self._open[role].execute("DISCARD ALL")
        self._taken.clear()

    def close(self) -> None:
        """End all sessions."""
        for connection in self._open.values():
            connection.close()
