"""Source trees of a logic change: a copy with parameters, or a commit of this repository.

A tree's name has a hash of its sources and parameters, or the commit. So equal changes share one
tree and one logic revision. A tree is written under a temporary name and renamed, so an interrupted
command leaves no incomplete tree.
"""

import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from analytics.backfill.change.parameters import text_of
from analytics.damage import Damage
from analytics.engines.code import ROOT, hash_of
from analytics.locks import in_turn
from inventory.parameters.overlay import Overlay

PACKAGES: Final = (
    *("inventory", "cdc", "ledger", "streams", "analytics", "webui", "bench", "deploy"),
)
CHOSEN: Final = Path("inventory/parameters/chosen.py")
REVISION: Final = Path("inventory/revision.py")
_NUMBER: Final = re.compile(r"^LOGIC_REVISION: Final = (\d+)$", re.MULTILINE)
_NAME: Final = re.compile(r"v(\d+)-([0-9a-f]{12})")
_NAME_CHARS: Final = 12
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", "*.pyc", "node_modules")
_GIT_CHARS: Final = 300
_MODULE: Final = '''"""The parameters of this logic revision, written for its run."""

from typing import Final

from inventory.parameters.overlay import Overlay, OverlayRule

CHANGE: Final[str] = {change!r}
OVERLAY: Final[Overlay] = (
{rules}
)
'''


class NoSourceTree(Damage, ValueError):
    """The change can't be applied to a tree, or git has no such commit."""

    exit_code = 2


def revision_of(tree: Path) -> int:
    """Return the logic revision that the tree's sources declare.

    Raises:
        NoSourceTree: the directory holds no sources of this project.
    """
    path = tree / REVISION
    try:
        found = _NUMBER.search(path.read_text("utf-8"))
    except OSError as error:
        problem = f"{path}: {error.strerror}"
        raise _refused(problem) from error
    if found is None:
        problem = f"{path}: names no LOGIC_REVISION"
        raise _refused(problem)
    return int(found[1])


def write_overlay_tree(
    trees: Path, overlay: Overlay, *, base: Path = ROOT, revision: int | None = None
) -> Path:
    """Return a tree below `trees` with the sources of `base` and the parameters of `overlay`.

    The tree declares `revision`, by default one more than the highest revision of `base` and of
    all trees below `trees`. Equal changes of equal sources give the same tree.

    Raises:
        NoSourceTree: the release of `base` supports no parameters, `base` already sets some, or
            another tree has the number `revision`.
    """
    _refuse_base(base)
    trees.mkdir(parents=True, exist_ok=True)
    # Without the lock, two commands at once could choose the same number.
    with in_turn(trees.with_name(f"{trees.name}.lock")):
        return _overlay_tree(trees, overlay, base, revision)


def _overlay_tree(trees: Path, overlay: Overlay, base: Path, revision: int | None) -> Path:
    content = repr((hash_of(base), [*map(tuple, overlay)], revision))
    name = hashlib.sha256(content.encode()).hexdigest()[:_NAME_CHARS]
    known = {m[2]: (int(m[1]), path) for path in _trees(trees) if (m := _NAME.match(path.name))}
    if name in known:
        return known[name][1]
    numbers = {number for number, _ in known.values()}
    if revision in numbers:
        problem = f"--revision {revision}: {trees} has other parameters with this number"
        raise _refused(problem, "leave --revision out for the next free number")
    taken = max([revision_of(base), *numbers])
    number = taken + 1 if revision is None else revision

    def fill(target: Path) -> None:
        for package in PACKAGES:
            shutil.copytree(base / package, target / package, ignore=_NOT_COPIED)
        (target / CHOSEN).write_text(_module(overlay), "utf-8")
        declared = _NUMBER.sub(
            f"LOGIC_REVISION: Final = {number}", (target / REVISION).read_text("utf-8")
        )
        (target / REVISION).write_text(declared, "utf-8")

    return _written(trees, f"v{number}-{name}", fill)


def write_commit_tree(trees: Path, commit: str, *, project: Path = ROOT) -> Path:
    """Return a tree below `trees` with the sources of a commit, branch or tag of `project`.

    Raises:
        NoSourceTree: git is missing, or has no such commit.
    """
    wanted = ("--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    full = _git(project, "rev-parse", *wanted, about=commit).decode().strip()
    name = f"commit-{full[:_NAME_CHARS]}"
    content = b"" if (trees / name).is_dir() else _git(project, "archive", full, about=commit)

    def fill(target: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            chosen = [one for one in archive if one.name.split("/", 1)[0] in PACKAGES]
            archive.extractall(target, members=chosen, filter="data")

    return _written(trees, name, fill)


def _written(trees: Path, name: str, fill: Callable[[Path], None]) -> Path:
    target = trees / name
    if target.is_dir():
        return target
    trees.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=trees))
    try:
        fill(staged)
        staged.rename(target)
    except OSError:
        if not target.is_dir():  # another command wrote it meanwhile
            raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def _trees(trees: Path) -> list[Path]:
    return sorted(trees.glob("v*-*"))


def _module(overlay: Overlay) -> str:
    rules = "\n".join(
        f"    OverlayRule(where={rule.where!r}, changes={rule.changes!r})," for rule in overlay
    )
    return _MODULE.format(change="; ".join(map(text_of, overlay)), rules=rules)


def _refuse_base(base: Path) -> None:
    path = base / CHOSEN
    if not path.is_file():
        problem = f"{path}: missing: the sources are of a release without parameters"
        raise _refused(problem)
    if path.read_bytes() != (ROOT / CHOSEN).read_bytes():
        problem = f"{path}: these sources have parameters already"
        raise _refused(problem, "name all parameters in one command, on sources without parameters")


def _git(project: Path, *arguments: str, about: str) -> bytes:
    git = shutil.which("git")
    if git is None:
        problem = f"--ref {about!r}: git is not installed"
        raise _refused(problem)
    command = [git, "-C", str(project), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 -- no shell; git takes the name as data
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip()[:_GIT_CHARS] or "no such commit"
        problem = f"--ref {about!r} in {project}: {reason}"
        raise _refused(problem)
    return done.stdout


def _refused(
    problem: str, step: str = "name a source tree with --code, or a commit with --ref"
) -> NoSourceTree:
    return NoSourceTree(problem, "nothing was computed", step)
