"""Check of the Parquet archive of the log: its manifest, its files and their checksums."""

from pathlib import Path
from typing import Final

from analytics.archive.checked import checked_content, refuse_missing, refuse_unlisted
from analytics.archive.entries import UNLISTED
from analytics.archive.former import refuse_lost_manifest
from analytics.archive.manifest import BrokenArchive, Manifest
from deploy.doctor.failures import Failure
from deploy.doctor.row import Row, ok
from deploy.stack.home import Home
from inventory.explain.formatting import counted_text

# The check reads at most so many bytes of the newest files, so that it ends within its time limit.
_MOST_BYTES: Final = 256 << 20


def archive(home: Home) -> Row:
    """Check the name and size of each file, and the checksums of the newest files, up to 256 MiB.

    Checksums of older files are checked by `inventory backfill run` when it reads them.
    """
    try:
        return ok("archive", _checked(home.path / "archive"))
    except BrokenArchive as damage:
        if damage.step.startswith(f"`{UNLISTED}`"):
            return Failure.ARCHIVE_FILE_UNLISTED.row(damage.problem)
        return Failure.ARCHIVE_DAMAGED.row(damage.problem)


def _checked(directory: Path) -> str:
    """Return a text with the number of files, and the number of files whose content was read.

    Raises:
        BrokenArchive: a file is missing, isn't in the manifest, or differs from it.
    """
    refuse_lost_manifest(directory)
    manifest = Manifest(directory)
    refuse_missing(manifest)
    refuse_unlisted(manifest)
    files = sorted(manifest.all_files(), key=lambda file: file.first_offset, reverse=True)
    rest, read = _MOST_BYTES, 0
    for file in files:
        rest -= file.bytes
        if rest < 0:
            break
        checked_content(directory, file.source)
        read += 1
    sizes = counted_text(len(files), "file has its listed size", "files have their listed sizes")
    return f"{sizes}; checksums of the newest {counted_text(read, 'file')} verified"
