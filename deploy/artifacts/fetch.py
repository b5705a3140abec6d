"""Fetch the JVM parts with Maven, and compare their files with a committed list.

The JVM parts are the broker, Connect and Debezium. The list is `jars.sha256`. If a file differs, is
missing or isn't listed, the module refuses all fetched files.

The name of the parts' directory is a hash of `pom.xml` and the list. So a changed version or list
gets a new directory. A directory gets this name only after all its files were verified.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.artifacts.caches import cache_root, maven_repository
from deploy.artifacts.prerequisites import MAVEN, require
from deploy.errors import StackError
from inventory.explain.formatting import counted_text

POM: Final = Path(__file__).with_name("pom.xml")
CHECKSUMS: Final = Path(__file__).with_name("jars.sha256")
_PARTS: Final = ("libs", "plugins")
_NAME_CHARS: Final = 16


class ChecksumMismatch(StackError):
    """A fetched file differs from the committed list, is missing, or isn't in the list."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The verified JVM parts (broker, Connect, Debezium) in `libs` and `plugins` of a directory."""

    root: Path

    @property
    def class_path(self) -> str:
        """Return the class path of broker and Connect: all libraries, in a fixed order.

        The order must be fixed, because a class-data archive (see `deploy.stack.class_data`) is
        valid only for the class path with which it was made.
        """
        return ":".join(str(jar) for jar in sorted((self.root / "libs").glob("*.jar")))

    @property
    def plugins(self) -> Path:
        """Return the directory for Connect's `plugin.path`. It isn't part of `class_path`."""
        return self.root / "plugins"


def cache_name() -> str:
    """Return the name of the directory that belongs to the present `pom.xml` and `jars.sha256`."""
    digest = hashlib.sha256(POM.read_bytes() + CHECKSUMS.read_bytes())
    return digest.hexdigest()[:_NAME_CHARS]


def present() -> Artifacts | None:
    """Return the JVM parts if an earlier call fetched and verified them, else None."""
    root = cache_root() / cache_name()
    return Artifacts(root) if root.is_dir() else None


def ensure(progress: Callable[[str], None] = lambda _: None) -> Artifacts:
    """Return the JVM parts. Fetch and verify them first if they are missing."""
    found = present()
    if found:
        return found
    cache_root().mkdir(parents=True, exist_ok=True)
    progress("downloading Kafka, Connect and Debezium with Maven, about 60 MB")
    with tempfile.TemporaryDirectory(dir=cache_root(), prefix=".fetch-") as scratch:
        download(Path(scratch))
        verify(Path(scratch))
        target = cache_root() / cache_name()
        _move_into_place(Path(scratch), target)
    progress(f"{counted_text(len(read_list()), 'file')} verified in {target}")
    return Artifacts(target)


def _move_into_place(scratch: Path, target: Path) -> None:
    staged = target.with_name(f".{target.name}-{os.getpid()}")
    staged.mkdir()
    for part in _PARTS:
        (scratch / part).rename(staged / part)
    try:
        staged.rename(target)
    except OSError:
        # Another process has created the directory meanwhile. Its files are complete and verified.
        shutil.rmtree(staged)
        if not target.is_dir():
            raise


def download(out: Path) -> None:
    """Run Maven to fetch the JVM parts into `out/libs` and `out/plugins`.

    Raises:
        StackError: Maven failed. The message has the end of Maven's output.
    """
    command = [require(MAVEN), "-B", "-q", "-f", str(POM), f"-Dout={out}", "package"]
    repository = maven_repository()
    command += [f"-Dmaven.repo.local={repository}"] if repository else []
    # Java decodes the path of this clone by the locale, so the locale has to be UTF-8.
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    result = subprocess.run(  # noqa: S603 -- fixed arguments
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if result.returncode:
        problem = (result.stdout + result.stderr)[-1500:]
        message = f"Maven could not download Kafka, Connect and Debezium:\n{problem}"
        raise StackError(message, repair=" ".join(command))


def digests(root: Path) -> dict[str, str]:
    """Return a map from path to SHA-256, for every file in `libs` and `plugins` of `root`.

    The paths are relative to `root`.
    """
    files = [path for part in _PARTS for path in sorted((root / part).rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def read_list() -> dict[str, str]:
    """Return the committed map from relative path to SHA-256."""
    lines = CHECKSUMS.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def verify(root: Path) -> None:
    """Raise `ChecksumMismatch` unless `root` has exactly the listed files and checksums."""
    expected, found = read_list(), digests(root)
    wrong = sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )
    if wrong:
        name = wrong[0]
        message = (
            f"{len(wrong)} downloaded files differ from {CHECKSUMS.name}. The first is {name}: "
            f"expected {expected.get(name, 'no such file')}, found {found.get(name, 'nothing')}"
        )
        raise ChecksumMismatch(message, repair="make artifacts-list  # after reading the change")


def write_list() -> int:
    """Fetch the JVM parts, and rewrite `jars.sha256` from their files.

    Return the number of files.
    """
    with tempfile.TemporaryDirectory() as scratch:
        download(Path(scratch))
        found = digests(Path(scratch))
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(found.items()))
    CHECKSUMS.write_text(text, encoding="utf-8")
    return len(found)
