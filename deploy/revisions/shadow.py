"""Workers of another logic revision beside a running stack, with their own code and topics.

A shadow is a small stack in the home of the main one, for example in `revisions/v2`. It has its own
supervisor, logs and `runtime.json`. Its workers form the consumer group of their revision, replay
`stock.events` from the beginning, and write topics that only comparisons read. So none of their
decisions reaches a page.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics.engines.code import code_hash, hash_of
from cdc.capture.admin import create_topics
from cdc.contracts.topics import application_id, topics_of
from deploy.errors import StackError
from deploy.stack import daemon
from deploy.stack.home import Home, write_json
from deploy.stack.runtime import environment_of, read_runtime
from inventory.revision import LOGIC_REVISION

_ASK: Final = "from inventory.revision import LOGIC_REVISION; print(LOGIC_REVISION)"
_ASK_S: Final = 60.0
_CODE: Final = "code.json"  # has the path of the workers' source tree, and the hash of its rules


class OtherRules(StackError):
    """Rules with another hash have already written the state of this logic revision."""


@dataclass(frozen=True, slots=True)
class Code:
    """A revision's source tree, and a Python interpreter with the packages that the tree needs."""

    tree: Path
    python: str = sys.executable

    def revision(self) -> int:
        """Return the logic revision that the source tree declares.

        Raises:
            StackError: the directory is no source tree of this project, or the interpreter failed.
        """
        command = [self.python, "-c", _ASK]
        try:
            asked = subprocess.run(  # noqa: S603 -- a tree that the operator has named
                command,
                cwd=self.tree,
                env=environment_for_tree(),
                capture_output=True,
                text=True,
                timeout=_ASK_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            message = f"--code {self.tree}: {error}; nothing was started"
            raise StackError(message) from error
        if asked.returncode or not asked.stdout.strip().isdigit():
            message = (
                f"--code {self.tree}: not a source tree of this project; nothing was started: "
                f"{asked.stderr.strip()[-300:]}"
            )
            raise StackError(message)
        return int(asked.stdout)


def environment_for_tree() -> dict[str, str]:
    """Return the environment of this process without `PYTHONSAFEPATH`.

    With this variable, a child process would not import the code in its working directory.
    """
    return {name: text for name, text in os.environ.items() if name != "PYTHONSAFEPATH"}


def home_of(home: Home, revision: int) -> Home:
    """Return the shadow's home, inside the stack's home."""
    return Home(home.path / "revisions" / f"v{revision}")


def shadows(home: Home) -> dict[int, Home]:
    """Return a map from revision number to home, for each shadow of the stack.

    A shadow has a home from its first start or publication here until `retire --delete`.
    """
    found = re.compile(r"v(\d+)")
    names = (home.path / "revisions").glob("v*")
    known = {int(m[1]): Home(path) for path in names if (m := found.fullmatch(path.name))}
    return dict(sorted(known.items()))


def code_of(home: Home, revision: int) -> str:
    """Return the hash of the rules that have written the revision's state, "" if none have.

    For the revision of the stack's own workers, return the hash of this code.
    """
    return code_hash() if revision == LOGIC_REVISION else _recorded(home, revision)


def start_command(home: Home, revision: int) -> str:
    """Return the command that starts workers of `revision` beside the stack.

    It names the source tree of an earlier start, or else the current directory.
    """
    known = _record(home, revision).get("tree")
    if known is None:
        return f"inventory revision start {revision} --code .  # in the source tree of its rules"
    return f"inventory revision start {revision} --code {shlex.quote(known)}"


def refuse_other_rules(home: Home, revision: int, tree: Path, code: str) -> None:
    """Raise `OtherRules` if rules with another hash than `code` wrote the state of this revision.

    The topics of the revision would otherwise mix the results of two sets of rules. `tree` is the
    source tree with the hash `code`, for the message.
    """
    known = _recorded(home, revision)
    if known in ("", code):
        return
    message = (
        f"the state of logic revision {revision} was written by rules with the hash {known}. The "
        f"rules in {tree} have the hash {code}. A revision number stands for one set of rules, so "
        "nothing was started or published"
    )
    raise OtherRules(message, repair=f"inventory revision retire {revision} --delete")


def claim(home: Home, revision: int, tree: Path, code: str) -> None:
    """Record that the rules with the hash `code` write the state of this revision.

    `tree` is their source tree, which is recorded, too.

    Raises:
        OtherRules: other rules have written the state.
    """
    refuse_other_rules(home, revision, tree, code)
    if _recorded(home, revision):
        return
    path = home_of(home, revision).path
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / _CODE, {"tree": str(tree), "code": code})


def _recorded(home: Home, revision: int) -> str:
    return _record(home, revision).get("code", "")


def _record(home: Home, revision: int) -> dict[str, str]:
    path = home_of(home, revision).path / _CODE
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def start(home: Home, revision: int, code: Code, workers: int | None = None) -> Home:
    """Create the revision's topics and start its workers. When all are ready, return their home.

    If `workers` is None or equals the number of workers that run, these continue. Otherwise they
    end, and `workers` new ones start. If none run, the default is one.

    Raises:
        StackError: no stack runs, the code is of another revision or of other rules than before, or
        the shadow did not become ready.
    """
    variables = environment_of(home)
    found = code.revision()
    if found != revision:
        message = (
            f"--code {code.tree}: LOGIC_REVISION is {found}, not {revision}; nothing was started"
        )
        raise StackError(message)
    shadow = home_of(home, revision)
    claim(home, revision, code.tree, hash_of(code.tree))
    runtime = read_runtime(shadow)
    if runtime.running:
        if workers in (None, len(runtime.services)):
            daemon.wait_ready(shadow)
            return shadow
        daemon.stop(shadow)
    create_topics(variables["INVENTORY_KAFKA_BOOTSTRAP"], topics_of(revision))
    shadow.logs.mkdir(parents=True, exist_ok=True)
    _spawn_supervisor(home, shadow, revision, code, workers or 1)
    daemon.wait_ready(shadow)
    return shadow


def _spawn_supervisor(home: Home, shadow: Home, revision: int, code: Code, workers: int) -> None:
    command = [sys.executable, "-m", "deploy.revisions.daemon", str(home.path), str(revision)]
    command += [str(code.tree), code.python, str(workers)]
    log = daemon.start_process(shadow, command, home)
    if log is not None:
        message = f"the supervisor of revision {revision} did not start:\n{log}"
        raise StackError(message)


def stop(home: Home, revision: int) -> bool:
    """End the workers of a shadow. Return True if some were running."""
    return daemon.stop(home_of(home, revision))


def forget(home: Home, revision: int) -> None:
    """Delete the files of a stopped shadow, including its workers' state."""
    shutil.rmtree(home_of(home, revision).path, ignore_errors=True)
    shutil.rmtree(home.path / "workers" / application_id(revision), ignore_errors=True)
