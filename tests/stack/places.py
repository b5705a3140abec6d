"""Start the complete stack in every place that a clone may have: `python -m tests.stack.places`.

Each place gets a copy of the tracked files and a separate environment. There it runs `make demo`
with its proof of a sale, `verify`, `down` and a second start, and deletes everything. The exit code
is 1 if a place failed. The command needs 4 GB of free memory, and 7 GB for two clones at the
same time.
"""

import argparse
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from deploy.stack.home import PROJECT

PROOF = "the page changed"
LIMIT_S = 1800
WEB = 8080
_ELSEWHERE = "an-own-home"
_LONG = "/".join(["a-directory-with-a-long-name"] * 5)


@dataclass(frozen=True, slots=True)
class Place:
    """Location and account of a clone: below a directory of mode `mode`, as `account`."""

    title: str
    clone: str = "clone"
    mode: int = 0o755
    umask: int = 0o022
    account: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()
    home: str = ""
    clones: int = 1
    is_port_taken: bool = False
    as_root: bool = False


PLACES = {
    "closed": Place("root below a directory of mode 0700", mode=0o700, as_root=True),
    "open": Place("below a directory of mode 0755"),
    "unprivileged": Place("an unprivileged account", account="nobody", as_root=True),
    "umask": Place("umask 077", umask=0o077),
    "letters": Place("spaces and letters beyond ASCII", "Läden und 库存", home="Kühlraum 1"),
    "long": Place("a path too long for a Unix socket", _LONG, home=_ELSEWHERE),
    "two": Place("two clones at the same time", clones=2),
    "lang": Place("LANG=C", variables={"LANG": "C"}, without=("LC_ALL",)),
    "posix": Place("LC_ALL=C and letters beyond ASCII", "Läden", variables={"LC_ALL": "C"}),
    "homeless": Place("HOME unset", without=("HOME", "XDG_CACHE_HOME")),
    "read-only": Place("HOME read-only", variables={"HOME": "/proc"}, without=("XDG_CACHE_HOME",)),
    "port": Place("port 8080 taken", is_port_taken=True),
}


@dataclass(slots=True)
class Result:
    """Seconds of the two starts, or the reason of the failure."""

    first_s: float = 0.0
    second_s: float = 0.0
    proof: str = ""
    problem: str = ""
    pages: str = ""


def main(arguments: Sequence[str]) -> int:
    """Run the named places, or all. Return the exit code."""
    parser = argparse.ArgumentParser(prog="tests.stack.places", description=__doc__)
    parser.add_argument("places", nargs="*", metavar="place", help=" ".join(PLACES))
    parser.add_argument("--keep", action="store_true", help="keep the clone of a failed place")
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.places} - PLACES.keys()):
        parser.error(f"{unknown[0]!r}: expected some of {' '.join(PLACES)}")
    is_well = True
    for name in given.places or PLACES:
        place = PLACES[name]
        if place.as_root and os.geteuid() != 0:
            _show(name, f"skipped: only root can try {place.title}")
            continue
        is_well &= _try(name, place, keep=given.keep)
    return 0 if is_well else 1


def _try(name: str, place: Place, *, keep: bool) -> bool:
    base = Path(tempfile.mkdtemp(prefix=f"inventory-place-{name}-"))
    with ExitStack() as stack:
        if place.is_port_taken:
            stack.enter_context(_taken(WEB))
        roots = [base / f"{number}" for number in range(1, place.clones + 1)]
        with ThreadPoolExecutor(len(roots)) as pool:
            results = list(pool.map(lambda root: _start_in(root, place), roots))
    for result in results:
        text = f"{result.first_s:6.0f} s, again {result.second_s:4.0f} s  {result.proof}"
        _show(name, f"FAILED: {result.problem}" if result.problem else text)
    failed = any(result.problem for result in results)
    if failed and keep:
        _show(name, f"kept in {base}")
    else:
        shutil.rmtree(base, ignore_errors=True)
    return not failed


def _start_in(root: Path, place: Place) -> Result:
    result = Result()
    clone = root / place.clone
    _copy_tracked(clone)
    _close(root, place)
    try:
        _follow(clone, place, result)
    except (AssertionError, subprocess.SubprocessError, OSError) as error:
        result.problem = str(error)[-2000:]
    finally:
        if (clone / ".venv/bin/inventory").exists():
            _run(clone, place, [".venv/bin/inventory", "reset", "--yes"], must=False)
    return result


def _follow(clone: Path, place: Place, result: Result) -> None:
    """Follow the README: the demo with its proof, and a second start."""
    began = time.monotonic()
    shown = _run(clone, place, ["make", "demo", f"PYTHON={_python()}"])
    result.first_s = time.monotonic() - began
    result.proof = next(line.strip(" ✔") for line in shown.splitlines() if PROOF in line)
    result.pages = next(line.split()[-1] for line in shown.splitlines() if "Pages" in line)
    if place.is_port_taken:
        assert not result.pages.endswith(f":{WEB}"), f"pages at {result.pages}"
    _run(clone, place, [".venv/bin/inventory", "verify"])
    _run(clone, place, [".venv/bin/inventory", "down"])
    began = time.monotonic()
    _run(clone, place, [".venv/bin/inventory", "up", "--detach"])
    result.second_s = time.monotonic() - began
    _run(clone, place, [".venv/bin/inventory", "status"])


def _run(clone: Path, place: Place, command: list[str], *, must: bool = True) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("INVENTORY_") and name not in place.without
    }
    environment |= place.variables
    if place.home:
        environment["INVENTORY_HOME"] = str(clone.parent / place.home)
    if place.account:
        environment["HOME"] = str(clone.parent)
    done = subprocess.run(  # noqa: S603 -- the README's own commands
        [*_as(place), *command],
        cwd=clone,
        env=environment,
        umask=place.umask,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
    if must and done.returncode:
        message = f"{' '.join(command)} gave {done.returncode}: {done.stdout}{done.stderr}"
        raise AssertionError(message)
    return done.stdout


def _as(place: Place) -> list[str]:
    if not place.account:
        return []
    person = pwd.getpwnam(place.account)
    identity = ["--reuid", str(person.pw_uid), "--regid", str(person.pw_gid), "--clear-groups"]
    return ["setpriv", *identity]


def _python() -> str:
    """Return a Python that every account can run: one below root's home can't be reached."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    machine = Path("/usr/bin") / version
    return str(machine) if machine.exists() else sys.executable


def _copy_tracked(clone: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 -- git of this machine
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (PROJECT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, clone / name)


def _close(root: Path, place: Place) -> None:
    """Give the files to the place's account, and clear the mode bits of the place's umask."""
    person = pwd.getpwnam(place.account) if place.account else None
    for path in (root, *root.rglob("*")):
        path.chmod(path.stat().st_mode & ~place.umask)
        if person is not None:
            os.chown(path, person.pw_uid, person.pw_gid)
    # `mkdtemp` created this directory with mode 0700. Give it the place's mode.
    root.parent.chmod(place.mode)


@contextmanager
def _taken(port: int) -> Iterator[None]:
    """Listen on `port`, unless another program does."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
            other.listen()
        except OSError:
            _show("port", f"{port} is taken by another program already")
        yield


def _show(name: str, text: str) -> None:
    sys.stdout.write(f"{name:<14} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
