"""The workers' HTTP answers: JSON objects with a schema version.

The kind of an answer names its JSON schema. For example, `answer_key` has the schema
`schemas/answer_key.v1.json`. Readers accept only the versions that they know.
"""

from collections.abc import Mapping
from typing import Any, Final

from cdc.contracts.versions import check_version, known

Document = dict[str, Any]

# Version of documents without the field `schema`. An earlier release wrote such documents.
_DEFAULT_VERSION: Final = 1

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

# The kind of the answer with status 200 at each address. `HEALTH`, `LIVE` and `READY` are also used
# with status 503. All other answers are of kind `PROBLEM`.
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
    """Return the document with the field `schema`: the newest version of the schema `kind`."""
    return {"schema": known(kind)[-1], **document}


def checked(kind: str, document: Document) -> Document:
    """Return the document if this code knows its version. Without `schema` the version is 1.

    Raises:
        UnknownVersion: the document has another version.
    """
    check_version(kind, "schema", document.get("schema", _DEFAULT_VERSION), known(kind))
    return document
