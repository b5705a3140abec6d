"""Paths in the home, the one directory to which a local stack writes everything."""

import contextlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cdc.disk import sync_directory
from deploy.errors import StackError

PROJECT: Final = Path(__file__).resolve().parents[2]
_SECRETS: Final = (
    "postgres",
    "retail_owner",
    "app_rw",
    "sink_rw",
    "archiver",
    "app_ro",
    "cdc",
    "connect",
    "query_token",
    "secret_key",
)


# Directories of results, which contain facts. They are created with mode 0700 at a start. If a
# command created them, every account could read them.
_RESULTS: Final = ("backfill", "former", "revisions")

# Name of a link to the new home. After a move, it is in an old home that can't itself become a
# link, such as a mount point.
MOVED_TO: Final = "moved-to"


def default_home() -> Path:
    """Return the path in `INVENTORY_HOME`, or `.inventory` beside the code.

    After `inventory move`, return the new home.

    Raises:
        StackError: the path exists and is no directory.
    """
    found = Path(os.environ.get("INVENTORY_HOME") or PROJECT / ".inventory").resolve()
    if (found / MOVED_TO).is_symlink():
        found = (found / MOVED_TO).resolve()
    if found.exists() and not found.is_dir():
        message = f"INVENTORY_HOME={str(found)!r}: expected a directory, or the path of a new one"
        raise StackError(message)
    return found


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one stack."""

    path: Path

    @property
    def runtime_file(self) -> Path:
        """File with the state of the running stack: services, pids and ports."""
        return self.path / "runtime.json"

    @property
    def logs(self) -> Path:
        """Directory of the logs, one file per service."""
        return self.path / "logs"

    @property
    def config(self) -> Path:
        """Directory of the generated configuration files."""
        return self.path / "config"

    @property
    def postgres(self) -> Path:
        """Postgres' data directory."""
        return self.path / "postgres"

    @property
    def kafka(self) -> Path:
        """The broker's log directory."""
        return self.path / "kafka"

    @property
    def logins_file(self) -> Path:
        """File with the names and random passwords of the demo's logins, for its owner only."""
        return self.path / "logins.json"

    def has_demo(self) -> bool:
        """Return True if the demo retailer was written here."""
        return self.logins_file.exists()

    @property
    def generation(self) -> int:
        """Number of the log's generation. It is 1 before the first `inventory generation`."""
        try:
            found = json.loads((self.path / "generation.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return 1
        return int(found["number"])

    def log_of(self, service: str) -> Path:
        """Return the log file of one service."""
        return self.logs / f"{service}.log"

    def create(self) -> None:
        """Create the home and its directories.

        Other accounts can only pass through the home itself (mode 0711), not read it. Postgres'
        account needs that.

        Raises:
            StackError: the operating system refuses.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o711)
        except OSError as error:
            message = (
                f"INVENTORY_HOME={str(self.path)!r}: expected a path that you may write to; {error}"
            )
            raise StackError(message) from error
        for directory in (self.logs, self.config, self.path / "archive", self.path / "workers"):
            directory.mkdir(mode=0o700, exist_ok=True)
        for name in _RESULTS:
            (self.path / name).mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(PermissionError):  # a link to a directory of another account
                (self.path / name).chmod(0o700)

    def secrets(self) -> dict[str, str]:
        """Return a map from name to password or token.

        They are generated once per home, and stored in a file that only its owner can read.
        """
        path = self.path / "secrets.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        missing = [name for name in _SECRETS if name not in known]
        if missing:
            known |= {name: secrets.token_urlsafe(32) for name in missing}
            write_json(path, known, is_durable=True)
        return {name: str(value) for name, value in known.items()}

    def contents(self) -> tuple[Path, ...]:
        """Return the files and directories that `reset` would delete."""
        return tuple(sorted(self.path.iterdir())) if self.path.is_dir() else ()

    def delete(self) -> None:
        """Delete the home's directory with all its contents."""
        shutil.rmtree(self.path, ignore_errors=False)


def write_json(path: Path, value: object, *, is_durable: bool = False) -> None:
    """Replace the file `path` atomically by `value` as JSON. Only the owner can read the file.

    With `is_durable`, the file is on the disk when the call returns. Use this for files that can't
    be made again.
    """
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(value, file, indent=1)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        staged.replace(path)
        if is_durable:
            sync_directory(path.parent)
    except OSError:
        staged.unlink(missing_ok=True)  # don't keep an incomplete file on a full disk
        raise
