"""Environments of peers that can't run in this project's environment.

Two of them are virtual environments of Python, and one is a Java build. Each is created below the
cache when it is needed. The name of its directory contains the hash of its lock files. A file
`.complete` in it shows that it is complete. If an environment can't be created, its peer is skipped
with the reason.
"""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deploy.artifacts.caches import cache_root
from deploy.artifacts.fetch import digests
from deploy.artifacts.prerequisites import MAVEN, require, require_java
from deploy.errors import StackError
from deploy.stack.home import PROJECT

KSTREAMS: Final = PROJECT / "bench/peers/kstreams"
_COMPLETE: Final = ".complete"
_NAME_CHARS: Final = 16

Progress = Callable[[str], None]


@dataclass(slots=True)
class Environments:
    """Environments that exist, and the reasons why the others are missing.

    `launchers` maps the name of an environment to the first words of its command line. `missing`
    maps the name to the reason.
    """

    launchers: dict[str, Sequence[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def make(names: Iterable[str], progress: Progress) -> Environments:
    """Create the environments `names`. Return their command lines, and reasons for missing ones."""
    found = Environments()
    for name in sorted(set(names)):
        try:
            found.launchers[name] = _launcher(name, progress)
        except (StackError, OSError) as failure:
            found.missing[name] = str(failure)
            progress(f"environment {name}: {failure}")
    return found


def _launcher(name: str, progress: Progress) -> Sequence[str]:
    if name == "ours":
        return (sys.executable,)
    if name == "kstreams":
        return (require_java(), "-cp", java_class_path(progress))
    return (str(python_of(PROJECT / f"requirements/peers-{name}.txt", progress)),)


def python_of(lock: Path, progress: Progress) -> Path:
    """Return the path of Python in a virtual environment with exactly the packages in `lock`.

    Create the environment if it is missing.

    Raises:
        StackError: the environment could not be installed.
    """
    root = cache_root() / f"{lock.stem}-{_digest([lock])}"
    python = root / "bin/python"
    if not (root / _COMPLETE).exists():
        progress(f"installing {lock.name} into an environment of its own")
        uv = str(Path(sys.executable).with_name("uv"))
        _run([uv, "venv", "-q", "--clear", "--python", sys.executable, str(root)])
        install = [uv, "pip", "install", "-q", "--python", str(python), "--require-hashes"]
        _run([*install, "-r", str(lock)])
        (root / _COMPLETE).touch()
    return python


def java_class_path(progress: Progress) -> str:
    """Return the class path of the Kafka Streams peer. Build it with Maven if it is missing.

    Raises:
        StackError: Maven could not build the peer, or a library differs from the list of checksums.
    """
    sources = sorted((KSTREAMS / "src").rglob("*.java"))
    listed = KSTREAMS / "jars.sha256"
    root = cache_root() / f"kstreams-{_digest([KSTREAMS / 'pom.xml', listed, *sources])}"
    if not (root / _COMPLETE).exists():
        progress("building the Kafka Streams peer with Maven")
        pom = str(KSTREAMS / "pom.xml")
        _run([require(MAVEN), "-B", "-q", "-f", pom, f"-Dout={root}", "package"])
        verify(root, listed)
        (root / _COMPLETE).touch()
    return ":".join(str(jar) for jar in [root / "peer.jar", *sorted((root / "libs").glob("*.jar"))])


def verify(root: Path, listed: Path) -> None:
    """Raise `StackError` unless `root` has exactly the libraries in the file `listed`.

    Each library must have its listed SHA-256.
    """
    lines = listed.read_text(encoding="utf-8").splitlines()
    expected = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    found = digests(root)
    wrong = sorted(n for n in expected.keys() | found.keys() if expected.get(n) != found.get(n))
    if wrong:
        message = f"{len(wrong)} libraries differ from {listed.name}; first {wrong[0]}"
        raise StackError(message)


def _digest(files: Iterable[Path]) -> str:
    content = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:_NAME_CHARS]


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- fixed tools
    if result.returncode:
        message = f"{Path(command[0]).name} failed: {(result.stderr or result.stdout)[-600:]}"
        raise StackError(message, repair=" ".join(command))
