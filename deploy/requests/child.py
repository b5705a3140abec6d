"""One command in a child process: its lines on standard error, its JSON and its exit code."""

import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from cdc.contracts.history_requests import COMPARE, EXPLAIN, QUERY, QUESTION

MOST_BYTES: Final = 8_000_000
# Largest number of bytes of a result, for kinds with another limit than `MOST_BYTES`. A comparison
# of runs prints more rows than other requests.
MOST_BYTES_OF: Final = {COMPARE: 64_000_000}
_LINES: Final = 12
_DAY_S: Final = 86_400.0
_SHORT_S: Final = 600.0
# Longest run time in seconds, by kind of request. A person waits for the results of these kinds.
# All other kinds may take a day.
LIMIT_S: Final = {EXPLAIN: _SHORT_S, QUESTION: _SHORT_S, QUERY: _SHORT_S}
_PLAIN: Final = {"NO_COLOR": "1", "TERM": "dumb"}

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Output:
    """Result of a command: its exit code, the last 12 lines of standard error, and its JSON.

    `document` is None if the command printed no JSON, or JSON that can't be used. In the second
    case, `messages` also has the reason.
    """

    exit_code: int
    messages: str
    document: Any


class Running:
    """A command that runs. A signal handler or another thread may call `stop`."""

    def __init__(self, command: Sequence[str], kind: str) -> None:
        self._most = MOST_BYTES_OF.get(kind, MOST_BYTES)
        self._written = tempfile.TemporaryFile()  # noqa: SIM115 -- `wait` closes it
        self._process = subprocess.Popen(  # noqa: S603 -- a command of this project
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._written,
            stderr=subprocess.PIPE,
            env=os.environ | _PLAIN,
        )
        self._timer = threading.Timer(LIMIT_S.get(kind, _DAY_S), self.stop)

    def stop(self) -> None:
        """Send SIGTERM. A `backfill` command then ends and keeps the units that it has finished."""
        self._process.terminate()

    def wait(self, report: Report) -> Output:
        """Wait until the command has ended, and return its result.

        While it runs, pass each line of its standard error to `report`. Stop the command after the
        longest run time of its kind.
        """
        kept: deque[str] = deque(maxlen=_LINES)
        self._timer.start()
        try:
            for line in _lines(self._process.stderr):
                kept.append(line)
                report(line)
            code = self._process.wait()
        finally:
            self._timer.cancel()
            if self._process.stderr is not None:
                self._process.stderr.close()
        with self._written:
            document, problem = _document(self._written, self._most)
        return Output(code, "\n".join((*kept, problem)).strip(), document)


def _lines(stream: IO[bytes] | None) -> Iterator[str]:
    for line in stream or ():
        if text := line.decode(errors="replace").strip():
            yield text


def _document(written: IO[bytes], most: int) -> tuple[Any, str]:
    """Return the printed JSON and "", or None and the reason if the JSON can't be used.

    Several JSON documents become a list. Without any output, return None and "".
    """
    size = written.seek(0, os.SEEK_END)
    if size > most:
        return None, f"The result has {size:,} bytes, more than {most:,}. Ask for fewer rows."
    written.seek(0)
    text = written.read().decode(errors="replace").strip()
    found: list[Any] = []
    try:
        while text:
            document, end = json.JSONDecoder().raw_decode(text)
            found.append(document)
            text = text[end:].lstrip()
    except ValueError:
        return None, text[-500:]
    return (found[0] if len(found) == 1 else found or None), ""
