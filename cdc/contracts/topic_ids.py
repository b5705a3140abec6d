"""Which topics something was made of: the ids that the broker gave them, by name.

A topic that was deleted and made anew has the name and after a while the offsets of the one before;
only its id is another. Workers keep such a file beside their directories, a publication beside its
run.
"""

import json
from collections.abc import Mapping

from cdc.contracts.versions import built, document_of, known

KIND = "topic_ids"


def topic_ids_document(ids: Mapping[str, str]) -> dict[str, object]:
    """The file's content."""
    return {"schema": known(KIND)[-1], "topic_ids": dict(ids)}


def decode_topic_ids(content: bytes) -> dict[str, str]:
    """The ids that `topic_ids_document` has told, or a release that wrote no version yet.

    Raises:
        UnknownVersion: written by another version of this code.
        UnreadableRecord: it tells no ids.
    """
    unversioned = _unversioned(content)
    if unversioned is not None:
        return unversioned
    return built(KIND, document_of(KIND, content), lambda row: dict(row["topic_ids"]))


def _unversioned(content: bytes) -> dict[str, str] | None:
    """Name and id alone, as the file was before it had a version."""
    try:
        row = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if type(row) is not dict or not all(type(found) is str for found in row.values()):
        return None
    return row
