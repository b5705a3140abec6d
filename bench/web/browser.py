"""A logged-in client that measures pages: time, size, elements, and the files of a first load."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final, Self
from urllib.parse import urljoin

import httpx
from typing_extensions import override

from bench.errors import BenchFailed

_PAGE_S: Final = 120.0
_LOADED: Final = frozenset({"stylesheet", "modulepreload", "icon", "manifest"})
_IMPORT: Final = re.compile(r"""(?:from|import)\s*\(?["'](\.{1,2}/[^"']+|/[^"']+)["']""")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answered page: milliseconds until its last byte, compressed bytes, elements, rows."""

    ms: float
    wire_bytes: int
    nodes: int
    rows: int


@dataclass(frozen=True, slots=True)
class FirstLoad:
    """The requests of a browser that opens the stock list for the first time."""

    requests: int
    wire_bytes: int


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.nodes, self.rows, self.files, self.live = 0, 0, list[str](), ""

    @override
    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Count the element and remember the files that it loads."""
        given = dict(attrs)
        self.nodes += 1
        self.rows += "data-key" in given
        self.live = self.live or given.get("data-live") or ""
        if tag == "script" and given.get("src"):
            self.files.append(given["src"] or "")
        address = given.get("href") or ""
        if tag == "link" and given.get("rel") in _LOADED and not address.startswith("data:"):
            self.files.append(address)


class Browser:
    """A client with the session of one person."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(
            base_url=url, timeout=_PAGE_S, headers={"Accept": "text/html"}, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def log_in(self, name: str, password: str) -> None:
        """Log in with the form of the login page.

        Raises:
            BenchFailed: the server refused the login.
        """
        self._client.get("/login/")
        token = self._client.cookies.get("csrftoken", "")
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        answer = self._client.post("/login/", data=form)
        if answer.status_code != httpx.codes.FOUND:
            problem = f"the login of {name} was answered with {answer.status_code}"
            raise BenchFailed(problem)

    @property
    def cookies(self) -> str:
        """The value of the header `Cookie`."""
        return "; ".join(f"{name}={value}" for name, value in self._client.cookies.items())

    def page(self, address: str) -> Answer:
        """Return the measurements of one page.

        Raises:
            BenchFailed: the status is not 200.
        """
        began = time.perf_counter()
        answer = self._get(address)
        ms = (time.perf_counter() - began) * 1000
        elements = _elements(answer.text)
        return Answer(ms, answer.num_bytes_downloaded, elements.nodes, elements.rows)

    def live_address(self, address: str) -> str:
        """Return the address of the event stream of a page."""
        return _elements(self._get(address).text).live

    def first_load(self, address: str) -> FirstLoad:
        """Request a page and each script, style, icon and manifest that it loads or imports."""
        answer = self._get(address)
        waiting = [urljoin(address, file) for file in _elements(answer.text).files]
        total, seen = answer.num_bytes_downloaded, set[str]()
        while waiting:
            file = waiting.pop()
            if file in seen:
                continue
            seen.add(file)
            found = self._get(file)
            total += found.num_bytes_downloaded
            if file.partition("?")[0].endswith(".js"):
                waiting += _imports(file, found.text)
        return FirstLoad(1 + len(seen), total)

    def _get(self, address: str) -> httpx.Response:
        answer = self._client.get(address)
        if answer.status_code != httpx.codes.OK:
            problem = f"{address} was answered with {answer.status_code}"
            raise BenchFailed(problem)
        return answer


def _elements(html: str) -> _Elements:
    found = _Elements()
    found.feed(html)
    return found


def _imports(file: str, script: str) -> Iterator[str]:
    for found in _IMPORT.finditer(script):
        yield urljoin(file, found[1])
