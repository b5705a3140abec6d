"""Read an archive's files from a local directory or from a URL.

A URL is read through fsspec. Buckets of S3 use Arrow's own client, which pyarrow contains. Their
addresses and credentials come from the standard variables of the environment (`AWS_…`).

Nothing here writes: the archiver writes to a local directory.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from analytics.archive.entries import KEPT, STEP, BrokenArchive
from analytics.archive.names import candidates
from analytics.damage import Damage

Location = Path | str  # a path of this stack, or the path or URL that a person has named
VARIABLES: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
)
_S3: Final = ("s3", "s3a", "s3n")
_SCHEMES: Final = ("http", "https")
_NOT_FOUND: Final = (404, 410)
_CONNECT_S: Final = 5.0
_REQUEST_S: Final = 60.0
_LONGEST: Final = 300
_COPY: Final = "copy the archive again as docs/roles/analyst.md describes, with _head.json last"
_CHECK_S3: Final = (
    "check bucket, path, AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, then start the same command again"
)
_CHECK_SERVER: Final = "check the URL and its server, then start the same command again"


class NoArchive(Damage):
    """The named path or URL has no readable archive, or its server can't be used."""


class Storage(Protocol):
    """The files of one archive. Their names are relative to the archive's directory or URL."""

    @property
    def address(self) -> str:
        """Return the archive's address, from which `location_of` makes a `Location`.

        It is an absolute path or a URL.
        """
        ...

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` up to `end`, or fewer if the file is shorter.

        Raises:
            FileNotFoundError: the file is missing.
            OSError: the file is unreadable.
            NoArchive: the archive is at a URL, and its server can't be used.
        """
        ...

    def sizes(self) -> Callable[[str], int]:
        """Return a function that gives the size in bytes of a named file.

        The function raises `FileNotFoundError` if the file is missing.
        """
        ...

    def at(self, name: str) -> str:
        """Return path or URL of a file, for messages."""
        ...

    def broken(self, problem: str) -> BrokenArchive:
        """Return the error for a damaged archive: problem, what was kept, and the next step."""
        ...


@dataclass(frozen=True, slots=True)
class Directory:
    """An archive in a local directory: the stack's, or a copy that a person has named."""

    path: Path
    is_copy: bool = False

    @property
    def address(self) -> str:
        """Return the absolute path, as a `file://` URL if the archive is a copy."""
        path = self.path.resolve()
        return path.as_uri() if self.is_copy else str(path)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` up to `end`."""
        with (self.path / name).open("rb") as stream:
            stream.seek(start)
            return stream.read() if end is None else stream.read(end - start)

    def sizes(self) -> Callable[[str], int]:
        """Return a function that gives the size in bytes of a named file."""
        return lambda name: (self.path / name).stat().st_size

    def at(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.path / name)

    def broken(self, problem: str) -> BrokenArchive:
        """Return the error of a damaged archive."""
        return BrokenArchive(problem, KEPT, _COPY if self.is_copy else STEP)

    @override
    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Remote:
    """An archive at a URL without user, password and options."""

    address: str

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` up to `end`."""
        with self._opened(name) as (system, root), system.open(f"{root}/{name}", "rb") as stream:
            stream.seek(start)
            found: bytes = stream.read() if end is None else stream.read(end - start)
            return found

    def sizes(self) -> Callable[[str], int]:
        """List the files at the URL. Return a function that gives a file's listed size in bytes.

        For an HTTP address, the function asks the server for each size, because HTTP has no lists.
        """
        if self._is_http:
            return self._size
        with self._opened("") as (system, root):
            listed = system.find(root, detail=True)
        found = {name.removeprefix(f"{root}/"): row["size"] for name, row in listed.items()}

        def size(name: str) -> int:
            if name not in found:
                raise FileNotFoundError(2, os.strerror(2), self.at(name))
            return int(found[name])

        return size

    def _size(self, name: str) -> int:
        with self._opened(name) as (system, root):
            size = system.info(f"{root}/{name}")["size"]
            if size is None:
                problem = "the server states no size"
                raise OSError(problem)
            return int(size)

    @property
    def _is_http(self) -> bool:
        return urlsplit(self.address).scheme in _SCHEMES

    def at(self, name: str) -> str:
        """Return the URL of a file."""
        return f"{self.address}/{name}"

    def broken(self, problem: str) -> BrokenArchive:
        """Return the error of a damaged archive."""
        return BrokenArchive(problem, KEPT, _COPY)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the archive's path in it.

        Replace errors of the file system by `FileNotFoundError` for a missing file, else by
        `NoArchive`.
        """
        try:
            yield _system(self.address, frozenset(variables().items()))
        except FileNotFoundError as error:
            if self._is_missing(error):
                raise FileNotFoundError(2, os.strerror(2), self.at(name)) from error
            raise self._unusable(name, error.__cause__ or error) from error
        except Exception as error:
            # Each file system of fsspec has its own types of errors.
            raise self._unusable(name, error) from error

    def _is_missing(self, error: FileNotFoundError) -> bool:
        """Return True if `error` means a missing file, False if the server failed.

        The HTTP client of fsspec raises `FileNotFoundError` for each failure, also for status 500
        and for a refused connection. Only the error's cause tells them apart: a missing file has
        status 404 or 410.
        """
        cause = error.__cause__
        return not self._is_http or cause is None or getattr(cause, "status", None) in _NOT_FOUND

    def _unusable(self, name: str, error: BaseException) -> NoArchive:
        cause = " ".join(str(error).split())[:_LONGEST].rstrip(".") or type(error).__name__
        step = _CHECK_SERVER if self._is_http else _CHECK_S3
        return NoArchive(f"{self.at(name)}: {cause}", KEPT, step)

    @override
    def __str__(self) -> str:
        return self.address


def storage_of(archive: "Location | Storage") -> Storage:
    """Return the storage of a path or URL. `file://` is a local path, `s3a://` means `s3://`.

    Raises:
        NoArchive: the URL has a user, a password or options.
    """
    if isinstance(archive, Path):
        return Directory(archive)
    if not isinstance(archive, str):
        return archive
    if not is_url(archive):
        return Directory(Path(archive), is_copy=True)
    parts = urlsplit(archive)
    if parts.username or parts.password or parts.query or parts.fragment:
        problem = f"the {parts.scheme} URL of the archive has a user name, a password or options"
        step = "name only bucket and path; set the AWS_… variables for the rest"
        raise NoArchive(problem, KEPT, step)
    if parts.scheme == "file":
        return Directory(Path(unquote(parts.path)), is_copy=True)
    scheme = "s3" if parts.scheme in _S3 else parts.scheme
    return Remote(f"{scheme}://{parts.netloc}{parts.path}".rstrip("/"))


def is_url(location: str) -> bool:
    """Return True for text such as `s3://bucket/archive`."""
    return "://" in location


def location_of(address: str) -> Location:
    """Return the location of a storage's address: a URL stays text, a path becomes a Path."""
    return address if is_url(address) else Path(address)


def read_document(storage: Storage, name: str, start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes of the manifest, the head or the file with the topic's id.

    The file may have its present or its former name.

    Raises:
        FileNotFoundError: no file has either name.
        OSError, NoArchive: as for `Storage.read`.
    """
    for each in candidates(name):
        with suppress(FileNotFoundError):
            return storage.read(each, start, end)
    raise FileNotFoundError(2, os.strerror(2), storage.at(name))


def variables() -> Mapping[str, str]:
    """Return this process's `AWS_…` variables, for example a server's address and credentials."""
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


@cache
def _system(url: str, _variables: frozenset[tuple[str, str]]) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    `_variables` has the `AWS_…` variables, for example the credentials. The function doesn't read
    them. They are an argument so that the cache has a file system for each set of credentials.
    """
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return _s3(), f"{parts.netloc}{parts.path}"
    from fsspec.core import url_to_fs  # noqa: PLC0415 -- a local archive needs no fsspec

    found: tuple[Any, str] = url_to_fs(url)
    return found


def _s3() -> Any:  # noqa: ANN401 -- fsspec and pyarrow publish no types
    """Return Arrow's client of S3. It reads the credentials from the environment or AWS profile."""
    from fsspec.implementations.arrow import ArrowFSWrapper  # noqa: PLC0415 -- a local archive needs no fsspec
    from pyarrow.fs import S3FileSystem  # noqa: PLC0415 -- starts the client's threads

    known = os.environ
    endpoint = known.get("AWS_ENDPOINT_URL_S3") or known.get("AWS_ENDPOINT_URL", "")
    address = urlsplit(endpoint)
    if endpoint and address.scheme not in _SCHEMES:
        message = "AWS_ENDPOINT_URL: expected http://HOST:PORT or https://HOST"
        raise ValueError(message)
    if "@" in address.netloc:
        message = "AWS_ENDPOINT_URL has a user name or password; set AWS_ACCESS_KEY_ID for that"
        raise ValueError(message)
    given = {"endpoint_override": address.netloc, "scheme": address.scheme} if endpoint else {}
    client = S3FileSystem(
        region=known.get("AWS_REGION") or known.get("AWS_DEFAULT_REGION"),
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
        **given,
    )
    return ArrowFSWrapper(client)
