"""`python -m tests.cdc.released`: write the hashes of all record schemas into `released.sha256`.

A hash leaves out titles and descriptions, because they don't change which records are valid.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tests.cdc.contract import SCHEMAS

RELEASED = SCHEMAS / "released.sha256"
_TEXTS = ("title", "description")
_NAMED = ("properties", "$defs")  # their keys are names of fields and definitions


def schema_hashes(directory: Path = SCHEMAS) -> Mapping[str, str]:
    """Return the SHA-256 of each schema without titles and descriptions, by file name."""
    return {file.name: _hash(file.read_bytes()) for file in sorted(directory.glob("*.json"))}


def _hash(schema: bytes) -> str:
    rules = _without_texts(json.loads(schema), named=False)
    return sha256(json.dumps(rules, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _without_texts(part: object, *, named: bool) -> object:
    if isinstance(part, list):
        return [_without_texts(each, named=False) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_texts(each, named=not named and key in _NAMED)
        for key, each in part.items()
        if named or key not in _TEXTS
    }


if __name__ == "__main__":
    RELEASED.write_text("".join(f"{digest}  {name}\n" for name, digest in schema_hashes().items()))
