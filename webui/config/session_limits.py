"""Time limits of a page's database session. A slow statement or a held lock ends in an error page.

Commands and jobs open sessions without these limits, because an import can take longer.
"""

from typing import Final

from django.db import DEFAULT_DB_ALIAS, connections

STATEMENT_MS: Final = 10_000
LOCK_MS: Final = 5_000
# A request that hangs between two statements would block other requests with its row locks.
IDLE_IN_TRANSACTION_MS: Final = 60_000


def options(statement_ms: int = STATEMENT_MS, lock_ms: int = LOCK_MS) -> str:
    """Return the limits as options of a Postgres session."""
    return (
        f" -c statement_timeout={statement_ms} -c lock_timeout={lock_ms}"
        f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS}"
    )


def limit_pages() -> None:
    """Apply the limits to every database session that this process opens from now on."""
    connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]["options"] += options()
