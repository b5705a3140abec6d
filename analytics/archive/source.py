"""Which topic an archive was made of: the id that the broker gave it.

A topic that was deleted and made anew has the name and after a while the offsets of the one before;
an archive that went on in it would join two histories.
"""

import json
from pathlib import Path
from typing import Final

from analytics.archive.manifest import BrokenArchive
from cdc.contracts.topics import STOCK_EVENTS
from cdc.contracts.versions import UnknownVersion, check_version, known

SOURCE: Final = "source.json"
KIND: Final = "archive_source"
_ID: Final = "topic_id"


def source_id(directory: Path) -> str | None:
    """The id of the archived topic; None for an archive of an earlier release.

    Raises:
        BrokenArchive: the file says something else, or another release has written it.
    """
    path = directory / SOURCE
    try:
        row = json.loads(path.read_text("utf-8"))
        if "schema" in row:  # an earlier release wrote none
            check_version(KIND, "schema", row["schema"], known(KIND))
        return str(row[_ID])
    except FileNotFoundError:
        return None
    except UnknownVersion as error:
        problem = f"{path}: {error}"
        raise BrokenArchive(problem) from error
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{path}: expected the id of the archived topic, found {error!r}"
        raise BrokenArchive(problem) from error


def refuse_other_source(directory: Path, topic_id: str) -> None:
    """Raise `BrokenArchive` if the archive is known to be of another topic."""
    known = source_id(directory)
    if known not in (None, topic_id):
        problem = (
            f"{directory}: made of the {STOCK_EVENTS} with id {known}, the broker's has {topic_id}:"
            " it was deleted and made anew"
        )
        raise BrokenArchive(problem)


def settle_source(directory: Path, topic_id: str) -> None:
    """Say for ever of which topic the archive is, unless that is known.

    Only for one whose offsets were found in that topic: an archive of an earlier release may be of
    one that is no more.
    """
    if source_id(directory) is not None:
        return
    path = directory / SOURCE
    temporary = path.with_suffix(".tmp")
    row = {"schema": known(KIND)[-1], "topic": STOCK_EVENTS, _ID: topic_id}
    temporary.write_text(json.dumps(row), encoding="utf-8")
    temporary.replace(path)
