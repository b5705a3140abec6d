"""Records the digest of a new logic revision's results: `python -m tests.golden.results`."""

import json
import sys

from analytics.backfill.change.examples import DIGESTS, digest, digests
from inventory.revision import LOGIC_REVISION


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
