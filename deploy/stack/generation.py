"""A new generation of the log: a capture of all rows of Postgres into empty topics.

An operator needs one after the loss of the history. Examples: `stock.events` is lost or truncated,
Postgres has dropped the replication slot, or the stack gets another Postgres. The workers compute
their results again from the rows in Postgres. Rows that only the log had are lost: deleted rows,
and former contents of changed rows.

`prepare` requires that the home's stack is stopped. The next start captures all rows, and starts no
reader before this capture has finished.

An interrupted capture must not continue. It would send rows a second time with other LSNs, and the
workers couldn't recognise them as copies. So prepare another generation instead.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from deploy.errors import StackError
from deploy.stack.context import Options
from deploy.stack.home import Home, write_json
from deploy.stack.runtime import UP, read_runtime

PREPARE: Final = "inventory generation --yes"
OWN_RULES: Final = f"{PREPARE} --own-rules"
_FILE: Final = "generation.json"
# Directories to move, in this order. The broker's is the last one, so it still exists after an
# interrupted move. `refuse_half_captured` then prevents a start.
_MOVED: Final = ("revisions", "archive", "workers", "kafka")
CAPTURING: Final = ("postgres", "kafka", "connect", "connector")


@dataclass(frozen=True, slots=True)
class Generation:
    """Number of the log's generation. `captured` is True when its capture has finished.

    `own_rules` is the name of the person who wants this stack's logic revision to decide, or "".
    """

    number: int = 1
    captured: bool = True
    own_rules: str = ""


def generation_of(home: Home) -> Generation:
    """Return the log's generation of this home. If there is no file, return generation 1.

    Raises:
        StackError: the file is damaged.
    """
    file = home.path / _FILE
    try:
        found = Generation(**json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Generation()
    except (ValueError, TypeError) as error:
        raise _damaged(file, repr(error)) from error
    if [type(entry) for entry in asdict(found).values()] != [int, bool, str]:
        raise _damaged(file, repr(found))
    return found


def _damaged(file: Path, found: str) -> StackError:
    message = (
        f"{file}: expected the number of a generation and `captured` (true or false), found "
        f"{found}; nothing was changed. Set the number in this file to N + 1, where N is the "
        "highest number of the directories former/generation-N in this home"
    )
    return StackError(message)


def prepare(home: Home, own_rules: str = "") -> tuple[Generation, Path]:
    """Move topics, archive and the workers' files to a new directory in `former/`.

    Return the next generation and this directory. If `own_rules` names a person, the files of other
    logic revisions are moved, too, and this stack's revision will decide. An empty `own_rules` is
    replaced by the value of the present generation, unless that generation's capture has finished.

    Raises:
        StackError: the stack runs or never ran. Or it has other logic revisions, and `own_rules` is
        empty.
    """
    former = generation_of(home)
    own_rules = own_rules or ("" if former.captured else former.own_rules)
    _refuse(home, beside_allowed=bool(own_rules))
    return move_away(home, former, own_rules)


def move_away(home: Home, former: Generation, own_rules: str) -> tuple[Generation, Path]:
    """Write the next generation's number, and then move the files of the former one.

    Return the next generation and the directory of the moved files.
    """
    target = home.path / "former" / f"generation-{former.number}"
    target.mkdir(parents=True, mode=0o700, exist_ok=True)
    coming = Generation(former.number + 1, captured=False, own_rules=own_rules)
    write_json(home.path / _FILE, asdict(coming), is_durable=True)
    for name in _MOVED:
        if (home.path / name).exists():
            shutil.move(home.path / name, target / name)
    return coming, target


def _refuse(home: Home, *, beside_allowed: bool) -> None:
    shadows = {path.name: Home(path) for path in sorted(home.path.glob("revisions/v*"))}
    if any(read_runtime(one).running for one in (home, *shadows.values())):
        message = "the stack runs, so its topics can't be moved; nothing was changed"
        raise StackError(message, repair="inventory down")
    if not home.postgres.is_dir():
        message = f"{home.path} has no database to capture; nothing was changed"
        raise StackError(message)
    if shadows and not beside_allowed:
        message = (
            f"logic revisions beside this stack read the topics that would be moved away:"
            f" {', '.join(shadows)}. Nothing was changed. The repair also moves the files of these"
            " revisions. After that, this stack's own logic revision decides"
        )
        raise StackError(message, repair=OWN_RULES)


def refuse_half_captured(home: Home, options: Options) -> None:
    """Raise `StackError` if the capture was interrupted.

    Also raise it if a capture is due, but `options` leave out a service that it needs.
    """
    generation = generation_of(home)
    if generation.captured:
        return
    if home.kafka.exists():
        message = f"the capture of generation {generation.number} was interrupted"
        raise StackError(message, repair=PREPARE)
    missing = [name for name in CAPTURING if not options.wants(name)]
    if missing:
        message = (
            f"generation {generation.number} is not captured yet, so {missing[0]} has to start "
            "too; nothing was started"
        )
        raise StackError(message, repair=UP)


def captured(home: Home) -> None:
    """Record that the capture of the present generation has finished, so the log has all rows."""
    present = Generation(generation_of(home).number)
    write_json(home.path / _FILE, asdict(present), is_durable=True)
