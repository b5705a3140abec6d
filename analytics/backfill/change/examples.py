"""Results of this code for fixed example histories, and the recorded digest of each revision.

The histories come from a seeded generator and execute most branches of the rules. Neither the
histories nor the digests of released revisions ever change. Folding all histories takes less than a
second.
"""

import gzip
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from cdc.contracts.history import fold_history
from inventory.revision import LOGIC_REVISION

DIRECTORY: Final = Path(__file__).parent / "example_histories"
HISTORIES: Final = DIRECTORY / "histories.jsonl.gz"
DIGESTS: Final = DIRECTORY / "digests.json"


def histories() -> Iterator[list[str]]:
    """Yield each example history as lines of the format that `inventory fold` reads."""
    with gzip.open(HISTORIES, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield [json.dumps(record) for record in json.loads(line)["records"]]


def digest() -> str:
    """Return the digest of verdicts, late sales, outputs and states of all example histories."""
    found = sha256()
    for records in histories():
        for line in fold_history(records):
            found.update(line.encode() + b"\n")
    return found.hexdigest()


def digests() -> dict[int, str]:
    """Return the recorded digest of each logic revision."""
    rows = json.loads(DIGESTS.read_text("utf-8"))
    return {int(revision): kept for revision, kept in rows.items()}


def gives_recorded_results() -> bool:
    """Return False if this code's results differ from those recorded for its logic revision.

    Return True for a new revision, which has no recorded digest yet.
    """
    recorded = digests().get(LOGIC_REVISION)
    return recorded is None or recorded == digest()
