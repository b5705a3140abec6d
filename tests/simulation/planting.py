"""Placement of a patch in sources that have changed since the patch was written.

`git apply` needs unchanged lines around a change, in the file that the patch names. A planted
defect only needs the lines that it changes. So `place` leaves out unchanged lines at the edges of a
hunk until a source has the remaining ones. It also searches other files for them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FILE: Final = re.compile(r"^\+\+\+ b/(\S+)$")
_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_KEPT: Final = " "


class DoesNotApply(Exception):
    """The lines that the defect changes are in no source, or in several places."""


@dataclass(frozen=True)
class Hunk:
    """Consecutive lines of one file, each with its sign: kept, removed or added."""

    file: str
    line: int
    signed: tuple[str, ...]

    @property
    def old(self) -> tuple[str, ...]:
        """Return the hunk's lines without the defect: the kept and the removed ones."""
        return tuple(line[1:] for line in self.signed if line[0] in " -")

    @property
    def new(self) -> tuple[str, ...]:
        """Return the hunk's lines with the defect: the kept and the added ones."""
        return tuple(line[1:] for line in self.signed if line[0] in " +")

    def narrower(self) -> Iterator["Hunk"]:
        """Yield this hunk, then copies with fewer and fewer unchanged lines at the edges."""
        head = next(n for n, line in enumerate(self.signed) if line[0] != _KEPT)
        tail = next(n for n, line in enumerate(reversed(self.signed)) if line[0] != _KEPT)
        cuts = [(min(cut, head), min(cut, tail)) for cut in range(max(head, tail) + 1)]
        for first, last in (*cuts, (max(head - 1, 0), tail), (head, max(tail - 1, 0))):
            part = Hunk(self.file, self.line + first, self.signed[first : len(self.signed) - last])
            if part.old:  # an addition without any line around it could be anywhere
                yield part


def hunks(patch: str) -> Iterator[Hunk]:
    """Yield the changes of a unified diff."""
    lines, file = iter(patch.splitlines()), ""
    for line in lines:
        if found := _FILE.match(line):
            file = found[1]
        elif found := _HUNK.match(line):
            wanted = [int(found[2] or 1), int(found[3] or 1)]
            yield Hunk(file, int(found[1]), tuple(_taken(lines, wanted)))


def _taken(lines: Iterator[str], wanted: list[int]) -> Iterator[str]:
    """Yield the lines of a hunk. `wanted` has the number of its old lines and of its new lines."""
    while any(wanted):
        line = next(lines) or _KEPT
        wanted[0] -= line[0] in " -"
        wanted[1] -= line[0] in " +"
        yield line


def place(patch: str, where: Path, folders: Sequence[str]) -> dict[Path, str]:
    """Return the new texts of the files that the patch changes, in or below `folders`.

    Raises:
        DoesNotApply: the removed lines are in no source, or in several places.
    """
    changed: dict[Path, str] = {}
    for hunk in hunks(patch):
        path, at, part = _found(hunk, where, folders, changed)
        lines = _lines(path, changed)
        lines[at : at + len(part.old)] = part.new
        changed[path] = "".join(f"{line}\n" for line in lines)
    return changed


def _found(
    hunk: Hunk, where: Path, folders: Sequence[str], changed: dict[Path, str]
) -> tuple[Path, int, Hunk]:
    own = where / hunk.file
    others = sorted(path for folder in folders for path in (where / folder).rglob("*.py"))
    for paths in ([own] if own.is_file() else [], others):
        for part in hunk.narrower():
            places = [(p, at) for p in paths for at in _starts(_lines(p, changed), part.old)]
            if len(places) == 1:
                return (*places[0], part)
            if places and part.signed == hunk.signed:
                return (*min(places, key=lambda found: abs(found[1] + 1 - hunk.line)), part)
    raise DoesNotApply("\n".join((hunk.file, *hunk.signed)))


def _lines(path: Path, changed: dict[Path, str]) -> list[str]:
    return (changed.get(path) or path.read_text(encoding="utf-8")).splitlines()


def _starts(lines: list[str], block: tuple[str, ...]) -> Iterator[int]:
    """Yield each index at which `lines` continue with `block`."""
    for at in range(len(lines) - len(block) + 1):
        if lines[at] == block[0] and tuple(lines[at : at + len(block)]) == block:
            yield at
