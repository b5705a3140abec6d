"""Digests of the rules' results for fixed histories: `python -m tests.golden.results`.

The histories are seeded ones (`tests/oracle/generate.py`) that take most branches of the rules.
Neither they nor the digests of released revisions are written again.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from cdc.contracts.history import fold_history
from inventory.revision import LOGIC_REVISION

KEPT = Path(__file__).parent / "results"
HISTORIES = KEPT / "histories.jsonl.gz"
DIGESTS = KEPT / "digests.json"


def histories() -> Iterator[list[str]]:
    """Yield each kept history as lines of the format that `inventory fold` reads."""
    with gzip.open(HISTORIES, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield [json.dumps(record) for record in json.loads(line)["records"]]


def digest() -> str:
    """Return the digest of verdicts, late sales, outputs and states of all kept histories."""
    found = sha256()
    for records in histories():
        for line in fold_history(records):
            found.update(line.encode() + b"\n")
    return found.hexdigest()


def digests() -> dict[int, str]:
    """Return the kept digest of each logic revision."""
    rows = json.loads(DIGESTS.read_text("utf-8"))
    return {int(revision): kept for revision, kept in rows.items()}


def main() -> None:
    """Write the digest of this revision if it has none."""
    known = digests()
    if LOGIC_REVISION in known:
        sys.stdout.write(f"logic revision {LOGIC_REVISION} has a digest: nothing was written\n")
        return
    rows = {str(revision): kept for revision, kept in (known | {LOGIC_REVISION: digest()}).items()}
    DIGESTS.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"the digest of logic revision {LOGIC_REVISION} was written to {DIGESTS}\n")


if __name__ == "__main__":
    main()
