"""The file format of topic ids, which show whether a topic was deleted and created again.

Such a topic has the same name and, after a while, the same offsets. Only the id that the broker
gave it differs. Workers store their topics' ids in `topics.json`, a publication beside its run.
"""

import json
from collections.abc import Mapping

from cdc.contracts.versions import built, document_of, known

KIND = "topic_ids"


def topic_ids_document(ids: Mapping[str, str]) -> dict[str, object]:
    """Return the file's content as a document."""
    return {"schema": known(KIND)[-1], "topic_ids": dict(ids)}


def decode_topic_ids(content: bytes) -> dict[str, str]:
    """Return the ids of a file, with or without a version.

    Raises:
        UnknownVersion: written by another version of this code.
        UnreadableRecord: it holds no ids.
    """
    unversioned = _unversioned(content)
    if unversioned is not None:
        return unversioned
    return built(KIND, document_of(KIND, content), lambda row: dict(row["topic_ids"]))


def _unversioned(content: bytes) -> dict[str, str] | None:
    """Return the ids of a file from before versions: names and ids alone."""
    try:
        row = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if type(row) is not dict or not all(type(found) is str for found in row.values()):
        return None
    return row
