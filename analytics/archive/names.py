"""Names of the files in an archive's directory, and the upgrade of an archive with former names.

The names begin with `_`, because Spark, Arrow and pandas skip such files. So these programs can
read the directory as one Parquet data set with the column `partition`. The first release wrote the
same files without the `_`, and Spark failed on them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analytics.archive.entries import broken

MANIFEST: Final = "_manifest.jsonl"
HEAD: Final = "_head.json"
SOURCE: Final = "_source.json"
LOCK: Final = "_lock"
FLUSH: Final = "_flush"  # a run writes this file to request the buffered records
RELEASE_REQUEST: Final = "_aside"  # `rearchive` writes this file to request an archiver's lock
_DOCUMENTS: Final = (SOURCE, MANIFEST, HEAD)


def former_name(name: str) -> str:
    """Return the name that the first release gave this file: `head.json` for `_head.json`."""
    return name.removeprefix("_")


def candidates(name: str) -> Iterator[str]:
    """Yield the names under which to look for a file: present, former and again the present name.

    The archiver may rename the file after the first attempt. Then the third attempt finds it.
    """
    yield from (name, former_name(name), name)


def present(directory: Path, name: str) -> Path:
    """Return the path of the file, which has its present or former name.

    If there is no such file, return the path with the present name.
    """
    paths = [directory / each for each in candidates(name)]
    return next((path for path in paths if path.exists()), paths[0])


def use_present_names(directory: Path) -> None:
    """Rename the files of the first release. The caller holds the archive's lock.

    Readers accept both names of each file. So a crash between two renames leaves a readable
    archive, and the next call continues. Afterwards the first release can't write here any more.

    Raises:
        BrokenArchive: a file has both names.
    """
    for name in _DOCUMENTS:
        former = directory / former_name(name)
        if not former.exists():
            continue
        if (directory / name).exists():
            problem = f"{former}: an earlier release wrote this file beside {name}"
            raise broken(problem)
        former.rename(directory / name)
    for name in (FLUSH, RELEASE_REQUEST):
        (directory / former_name(name)).unlink(missing_ok=True)
    _lock_out_first_release(directory / former_name(LOCK))


def _lock_out_first_release(lock: Path) -> None:
    """Put a directory in place of the former lock, so that the first release can't open it.

    Otherwise the first release would find no file with a name that it knows. That release would
    take the archive for an empty one and delete the Parquet files.
    """
    if not lock.is_dir():
        lock.unlink(missing_ok=True)
        lock.mkdir()
