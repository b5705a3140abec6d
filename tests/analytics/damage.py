"""Random damage to an archive and a run: `python -m tests.analytics.damage --seed 7`.

Each change damages files on disk. `examined`, the check before a publication, must refuse the
damaged files. Then the files are restored. A publication writes nothing before this check. The seed
determines all changes. A change that the check accepts is printed with its seed and number.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.archive import names
from analytics.archive.source import write_source_id
from analytics.backfill.lock import LOCK
from analytics.backfill.plan import directory_of, load, make_plan
from analytics.backfill.publish import examined
from analytics.backfill.run import execute, runs_dir
from analytics.damage import Damage
from cdc.settings import Connections
from tests.analytics.histories import PARTITIONS, archived, generate

UNREAD = {names.LOCK, names.FLUSH, LOCK}  # files whose content no reader uses
TOPIC_ID = "id-of-the-topic"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file. `refusal` is the message of the check, None if there is none."""

    number: int
    kind: str
    path: str
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """A home with an archive and a finished run, and the correct content of its files."""

    settings: Connections
    run: str
    files: dict[Path, bytes]

    def refusal(self) -> str | None:
        """Return the reason why the run can't be published now, or None if it can."""
        directory = runs_dir(self.settings) / self.run
        try:
            directory = directory_of(runs_dir(self.settings), self.run)
            # Don't wait for a newer head, because no archiver runs here.
            examined(self.settings, directory, load(directory), tail_wait_s=0.0)
        except Damage as refused:
            return str(refused)
        return None

    def restore(self) -> None:
        """Restore every file."""
        for path in tree(self.settings.home):
            if path not in self.files:
                path.unlink()
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)


def tree(home: Path) -> list[Path]:
    """Return every file that a reader of archive or run opens, sorted."""
    return sorted(p for p in home.rglob("*") if p.is_file() and p.name not in UNREAD)


def a_case(home: Path, seed: int) -> Case:
    """Return an archive of a generated history with a finished run over it."""
    settings = Connections(home=home, partitions=PARTITIONS)
    settings.archive_dir.mkdir(parents=True)
    write_source_id(settings.archive_dir, TOPIC_ID)
    manifest = archived(settings.archive_dir, generate(seed, records=120))
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    run = execute(make_plan(manifest, engine="local", ends=ends), runs_dir(settings)).plan.run
    return Case(settings, run, {path: path.read_bytes() for path in tree(home)})


# Bytes of any file


def flip(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice([b"\0", b" ", b"\n", b"7", rng.randbytes(9)]) + content[at:]


def delete(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + content[at + rng.choice([1, 1, 16]) :]


def truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def overwrite(rng: random.Random, content: bytes) -> bytes:
    """Return the content with one block replaced by zeros, as after a disk error."""
    at, size = rng.randrange(len(content)), rng.choice([1, 64, 512])
    zeros = bytes(min(size, len(content) - at))
    return content[:at] + zeros + content[at + len(zeros) :]


# Lines of manifests, which stay valid JSON


def drop_line(rng: random.Random, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines))]


def drop_tail(rng: random.Random, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines)) :]


def double_line(rng: random.Random, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))


def swap_lines(rng: random.Random, lines: list[bytes]) -> None:
    one, other = rng.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]


def edit_line(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    lines[at] = edited(rng, lines[at])


def edited(rng: random.Random, document: bytes) -> bytes:
    """Return the JSON object with one field changed, copied or removed. Keep its layout."""
    row = json.loads(document)
    name, how = rng.choice(sorted(row)), rng.randrange(4)
    if how == 0:
        del row[name]
    elif how == 1:
        row[f"{name}_"] = row[name]
    else:
        row[name] = other(rng, row[name])
    if b"\n" in document:
        return json.dumps(row, sort_keys=True, indent=1).encode()
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()


def other(rng: random.Random, value: object) -> object:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 1000])
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, list):
        return value[1:]
    return {} if value else 1


# Rows of Parquet files, which stay valid


def change_rows(rng: random.Random, path: Path) -> bool:
    """Drop, double or change some rows of the file. Return False if it has no rows."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    if not rows:
        return False
    at, how = rng.randrange(len(rows)), rng.randrange(3)
    if how == 0:
        del rows[at]
    elif how == 1:
        rows.insert(at, rows[at])
    else:
        column = rng.choice(["key", "value" if "value" in rows[at] else table.schema.names[-1]])
        for row in rows[at : at + 20]:
            row[column] = (row[column] or b"") + b" "
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path, compression="zstd")
    return True


# Whole files


def lose(_rng: random.Random, path: Path, _files: list[Path]) -> None:
    path.unlink()


def rename(_rng: random.Random, path: Path, _files: list[Path]) -> None:
    path.rename(path.with_name(f"x-{path.name}"))


def copy_over(rng: random.Random, path: Path, files: list[Path]) -> None:
    """Replace the file by another one of the same kind."""
    shutil.copy(rng.choice(differing(path, files)), path)


def swap(rng: random.Random, path: Path, files: list[Path]) -> None:
    partner = rng.choice(differing(path, files))
    ours, theirs = path.read_bytes(), partner.read_bytes()
    path.write_bytes(theirs)
    partner.write_bytes(ours)


def copy_beside(rng: random.Random, path: Path, files: list[Path]) -> None:
    """Copy the file under a new name into a directory of Parquet files."""
    data = [one for one in files if one.suffix == ".parquet"]
    beside = rng.choice(data).parent
    shutil.copy(path, beside / f"copy-{rng.randrange(99)}{path.suffix}")


def empty(_rng: random.Random, path: Path, _files: list[Path]) -> None:
    path.write_bytes(b"")


def differing(path: Path, files: list[Path]) -> list[Path]:
    content = path.read_bytes()
    found = [p for p in files if p.suffix == path.suffix and p.read_bytes() != content]
    return found or [p for p in files if p.read_bytes() != content]


BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(flip, insert, delete, truncate, overwrite),
)
LINES: tuple[Callable[[random.Random, list[bytes]], None], ...] = (
    *(drop_line, drop_tail, double_line, swap_lines, edit_line),
)
FILES: tuple[Callable[[random.Random, Path, list[Path]], None], ...] = (
    *(lose, rename, copy_over, swap, copy_beside, empty),
)


def change(rng: random.Random, case: Case) -> tuple[str, Path]:
    """Make random changes until a file differs. Return the last change's kind and its file."""
    files = sorted(case.files)
    while True:
        what = rng.choice(["bytes", "bytes", "lines", "documents", "rows", "files"])
        path = rng.choice([p for p in files if fits(what, p)])
        kind = applied(rng, what, path, files)
        if any(not p.exists() or p.read_bytes() != case.files[p] for p in files) or (
            len(tree(case.settings.home)) != len(files)
        ):
            return kind, path


def fits(what: str, path: Path) -> bool:
    suffixes = {"lines": ".jsonl", "documents": ".json", "rows": ".parquet"}
    return path.suffix == suffixes.get(what, path.suffix)


def applied(rng: random.Random, what: str, path: Path, files: list[Path]) -> str:
    if what == "bytes":
        by_bytes = rng.choice(BYTES)
        path.write_bytes(by_bytes(rng, path.read_bytes()))
        return by_bytes.__name__
    if what == "lines":
        by_lines = rng.choice(LINES)
        lines = path.read_bytes().splitlines()
        by_lines(rng, lines)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return by_lines.__name__
    if what == "documents":
        path.write_bytes(edited(rng, path.read_bytes()))
        return "edit_document"
    if what == "rows":
        change_rows(rng, path)
        return "change_rows"
    by_files = rng.choice(FILES)
    by_files(rng, path, files)
    return by_files.__name__


def changes(home: Path, seed: int, count: int) -> Iterator[Change]:
    """Make `count` changes one after the other, each to undamaged files. Yield each change.

    Raises:
        RuntimeError: the unchanged files are refused, so a refusal would prove nothing.
    """
    case = a_case(home, seed)
    sound = case.refusal()
    if sound is not None:
        raise RuntimeError(sound)
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")  # noqa: S311 -- seeded test data
        kind, path = change(rng, case)
        refusal = case.refusal()
        case.restore()
        yield Change(number, kind, str(path.relative_to(home)), refusal)


def main() -> int:
    """Print each undetected change, then the number of changes by kind.

    Return 1 if a change was not detected, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changes", type=int, default=200)
    given = parser.parse_args()
    kinds: Counter[str] = Counter()
    unseen = 0
    with tempfile.TemporaryDirectory() as home:
        for made in changes(Path(home), given.seed, given.changes):
            kinds[made.kind] += 1
            if made.refusal is None:
                unseen += 1
                sys.stdout.write(f"not detected: seed {given.seed}, {made}\n")
    counts = dict(sorted(kinds.items()))
    sys.stdout.write(f"{kinds.total()} changes, {unseen} not detected: {counts}\n")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
