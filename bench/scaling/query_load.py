"""A client that queries a worker repeatedly and measures the latency of each answer."""

import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import httpx

from bench.load import percentile

_PAUSE_S: Final = 0.02
_TIMEOUT_S: Final = 30.0


class QueryLoad:
    """A thread that queries `keys` in turn, every 20 ms, until the `with` block ends.

    `waited_s` has the seconds of each successful answer. `unanswered` counts all other queries, for
    example those that a restoring worker refuses.
    """

    def __init__(self, url: str, token: str, keys: Sequence[str]) -> None:
        self._paths = [f"{url}/iq/v1/store/on-hand/{quote(key, safe='')}" for key in keys]
        self._headers = {"Authorization": f"Bearer {token}"}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.waited_s: list[float] = []
        self.unanswered = 0

    @property
    def p99_s(self) -> float:
        """The 99th percentile of `waited_s` in seconds. `waited_s` must not be empty."""
        return percentile(sorted(self.waited_s), 990)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx.Client(headers=self._headers, timeout=_TIMEOUT_S, trust_env=False) as client:
            asked = 0
            while not self._ends.wait(_PAUSE_S):
                began = time.perf_counter()
                if self._answers(client, self._paths[asked % len(self._paths)]):
                    self.waited_s.append(time.perf_counter() - began)
                else:
                    self.unanswered += 1
                asked += 1

    def _answers(self, client: httpx.Client, path: str) -> bool:
        try:
            return client.get(path).status_code == HTTPStatus.OK
        except httpx.HTTPError:
            return False
