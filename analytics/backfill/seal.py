"""`_RUN.json` of a finished run, with the hashes of itself, of the plan and of the units.

The seal is no secret: it reveals accidental changes, not those of a person who computes a new seal.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from analytics.backfill.plan import PLAN_FILE, damaged
from cdc.contracts.versions import UnreadableRecord, document_of, known

KIND: Final = "run"
RUN_FILE: Final = "_RUN.json"
RUN_MANIFEST: Final = "manifest.jsonl"
_SEALED: Final = {"plan_sha256": PLAN_FILE, "units_sha256": RUN_MANIFEST}
_SEAL: Final = "seal"
_UNSEALED: Final = 1  # schema of earlier releases


def write_report(directory: Path, report: Mapping[str, Any]) -> None:
    """Write the report of a finished run, with the current hashes of plan and units."""
    hashes = {name: _sha256(directory / file) for name, file in _SEALED.items()}
    row = {"schema": known(KIND)[-1], **report, **hashes}
    target = directory / RUN_FILE
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(_encoded(row | {_SEAL: _seal_of(row)}))
    temporary.replace(target)


def load_report(directory: Path) -> dict[str, Any] | None:
    """Return the report of a finished run, or None if the run is unfinished.

    Raises:
        UnknownRun: another release wrote it, or it was changed.
    """
    row = _document(directory)
    if row is None:
        return None
    for name in ("schema", _SEAL, *_SEALED):
        row.pop(name, None)
    return row


def is_sealed(directory: Path) -> bool:
    """Return False for an unfinished run, or one that an earlier release finished."""
    row = _document(directory)
    return row is not None and row["schema"] != _UNSEALED


def seal_of_run(directory: Path) -> str:
    """Return the hash in the report of a run, which `refuse_unsealed` must have checked before."""
    return str((_document(directory) or {}).get(_SEAL, ""))


def refuse_unsealed(directory: Path) -> None:
    """Raise `UnknownRun` if plan or units were changed after the run was finished."""
    row = _document(directory)
    if row is None or row["schema"] == _UNSEALED:
        problem = f"{directory / RUN_FILE} has no seal: an earlier release finished this run"
        raise damaged(directory, problem)
    for name, file in _SEALED.items():
        found = _sha256(directory / file)
        if found != row[name]:
            problem = (
                f"{directory / file}: changed since the run ended: sha256 {found:.12}…, "
                f"expected {row[name]!s:.12}… by {RUN_FILE}"
            )
            raise damaged(directory, problem)


def _document(directory: Path) -> dict[str, Any] | None:
    path = directory / RUN_FILE
    if not path.exists():
        return None
    content = path.read_bytes()
    try:
        row = document_of(KIND, content, default_version=1)
    except UnreadableRecord as error:
        problem = f"{path}: {error}"
        raise damaged(directory, problem) from error
    if row["schema"] != _UNSEALED and (content != _encoded(row) or row.get(_SEAL) != _seal_of(row)):
        problem = f"{path}: changed: its seal doesn't match its content"
        raise damaged(directory, problem)
    return row


def _seal_of(row: Mapping[str, Any]) -> str:
    content = {name: value for name, value in row.items() if name != _SEAL}
    return hashlib.sha256(_encoded(content)).hexdigest()


def _encoded(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, sort_keys=True, indent=1).encode()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()
