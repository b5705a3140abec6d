"""Commands that the faults run: each in its own process group, with a limit of 300 s."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

COMMAND_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """A finished command: exit code, output, and in `verb` its first argument, such as `status`."""

    code: int
    text: str
    verb: str = ""

    def document(self) -> Any:  # noqa: ANN401 -- JSON of any shape
        """Return the first JSON document in the output, or None if there is none."""
        with suppress(ValueError):
            return json.JSONDecoder().raw_decode(self.text[min(_starts(self.text), default=0) :])[0]
        return None


def run_command(command: list[str], environment: Mapping[str, str]) -> FinishedCommand:
    """Run a command in its own process group. After 300 s, kill the group and return code -1.

    If the bench is interrupted, kill the group, too, so that no repair continues after the bench.
    """
    with subprocess.Popen(  # noqa: S603 -- our own command, or what it printed
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    ) as process:
        try:
            text, _ = process.communicate(timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            _end_group(process.pid)
            return FinishedCommand(
                -1, f"no end in {COMMAND_S:.0f} s: {' '.join(command)}", command[1]
            )
        except BaseException:
            _end_group(process.pid)
            raise
    return FinishedCommand(process.returncode, text, command[1])


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _starts(text: str) -> list[int]:
    return [at for at in (text.find("{"), text.find("[")) if at >= 0]
