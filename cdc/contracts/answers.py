"""What workers answer over HTTP, as a contract: every document says the version of its schema.

The address says which schema: `ADDRESSES` has one for each, `PROBLEM` is that of every refusal.
A reader takes the versions that it knows and no other, as with records.
"""

from collections.abc import Mapping
from typing import Any, Final

from cdc.contracts.versions import check_version, known

Document = dict[str, Any]

_UNSAID: Final = 1  # the release before versions were said; its answers have less, nothing else

KEY: Final = "answer_key"
ON_HAND: Final = "answer_on_hand"
SALES_WINDOWS: Final = "answer_sales_windows"
PARTITIONS: Final = "answer_partitions"
LAG: Final = "answer_lag"
HEALTH: Final = "answer_health"
REVISION: Final = "answer_revision"
LIVE: Final = "answer_live"
READY: Final = "answer_ready"
PROBLEM: Final = "answer_problem"

# Address to the kind of what is answered there with 200; health, live and ready say 503 in it too.
ADDRESSES: Final[Mapping[str, str]] = {
    "/iq/v1/keys/{key}": KEY,
    "/iq/v1/store/on-hand/{key}": ON_HAND,
    "/iq/v1/store/sales-windows/{key}": SALES_WINDOWS,
    "/iq/v1/partitions": PARTITIONS,
    "/iq/v1/lag": LAG,
    "/iq/v1/health": HEALTH,
    "/iq/v1/revision": REVISION,
    "/livez": LIVE,
    "/readyz": READY,
}


def versioned(kind: str, document: Document) -> Document:
    """The document with the version of `kind` that this code writes."""
    return {"schema": known(kind)[-1], **document}


def checked(kind: str, document: Document) -> Document:
    """The document, if it is of a version that this code knows; one that says none is of the first.

    Raises:
        UnknownVersion: it is of another.
    """
    check_version(kind, "schema", document.get("schema", _UNSAID), known(kind))
    return document
