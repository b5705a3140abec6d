"""The file format of topic ids, which show whether a topic was deleted and created again.

A topic that was created again has the same name and, after a while, the same offsets. Only the id
that the broker gave to the topic differs. Workers store the ids of their topics in `topics.json`.
`inventory backfill publish` stores them beside the run that it publishes.
"""

import json
from collections.abc import Mapping

from cdc.contracts.versions import built, document_of, known

KIND = "topic_ids"


def topic_ids_document(ids: Mapping[str, str]) -> dict[str, object]:
    """Return the file's content as a JSON object: its version, and the ids by topic name."""
    return {"schema": known(KIND)[-1], "topic_ids": dict(ids)}


def decode_topic_ids(content: bytes) -> dict[str, str]:
    """Return the ids of a file, with or without a version.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` has no ids.
    """
    unversioned = _unversioned(content)
    if unversioned is not None:
        return unversioned
    return built(KIND, document_of(KIND, content), lambda row: dict(row["topic_ids"]))


def _unversioned(content: bytes) -> dict[str, str] | None:
    """Return the ids of a file without a version, or None if `content` has another form."""
    try:
        row = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if type(row) is not dict or not all(type(found) is str for found in row.values()):
        return None
    return row
