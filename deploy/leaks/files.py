"""Search for secrets in the files of a home: logs, configuration, archive, exports, topics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.leaks.needles import Needles, found_in, longest
from deploy.stack.home import Home

# Files that may contain secrets. Only their owner may read them.
KEPT: Final = frozenset(
    {
        *("secrets.json", "environment.json", "logins.json", "pgpass"),
        "config/connect-credentials.properties",
    }
)
# The search leaves out Postgres' directory. It belongs to another account, and has only verifiers
# of the passwords.
_LEFT_OUT: Final = frozenset({"postgres"})
_CHUNK: Final = 8_000_000


def search(home: Home, needles: Needles, below: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each secret that a file contains, and the path of the file.

    `below` is the directory to search: the home, or a directory in it. The files in `KEPT` may
    contain secrets, so they are not searched. If other accounts can read such a file, yield
    "all" in place of a secret's name, and a message in place of the path.
    """
    for path in sorted(below.rglob("*")):
        name = path.relative_to(home.path).as_posix()
        if name.split("/")[0] in _LEFT_OUT or path.is_symlink() or not path.is_file():
            continue
        if name in KEPT:
            if path.stat().st_mode & 0o077:
                yield "all", f"{path} can be read by other accounts"
            continue
        for secret in sorted(_in_file(path, needles)):
            yield secret, str(path)


def _in_file(path: Path, needles: Needles) -> set[str]:
    found: set[str] = set()
    rest = b""
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found |= found_in(needles, rest + chunk)
                rest = chunk[-longest(needles) :]
    except OSError:
        return found  # removed meanwhile, as the broker does with old segments
    return found
