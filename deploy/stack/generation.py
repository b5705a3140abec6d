"""A new generation of the log: a fresh capture of Postgres into empty topics.

An operator needs one after the loss of the history: `stock.events` lost or truncated, a replication
slot that Postgres has dropped, or another Postgres. The workers compute their results again from
the rows in Postgres. Rows that only the log had are lost: deleted rows, and former contents of
changed rows.

`prepare` works on a stopped home. The next start captures, and no reader starts before that capture
has finished. If an interrupted capture continued, it would send rows again with other LSNs, and the
workers couldn't recognise these records as copies. So prepare another generation instead.
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
# The broker's files come last: while they exist, a start refuses an interrupted move.
_MOVED: Final = ("revisions", "archive", "workers", "kafka")
CAPTURING: Final = ("postgres", "kafka", "connect", "connector")


@dataclass(frozen=True, slots=True)
class Generation:
    """Number of the log's generation. `captured` is True once its capture has finished.

    `own_rules` names the person who asked for a switch to this stack's logic revision. It is empty
    without such a request.
    """

    number: int = 1
    captured: bool = True
    own_rules: str = ""


def generation_of(home: Home) -> Generation:
    """Return the log's generation of this home, or generation 1 if no file states another.

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
        f"{found}; nothing was changed. Write 1 more than the highest number in the names of the "
        "directories below former/ of this home"
    )
    return StackError(message)


def prepare(home: Home, own_rules: str = "") -> tuple[Generation, Path]:
    """Move topics, archive and the workers' files to a new directory in `former/`.

    Return the next generation and this directory. If `own_rules` names a person, the files of other
    logic revisions are moved, too. If `own_rules` is empty and the present generation was never
    captured, take `own_rules` from the present generation.

    Raises:
        StackError: the stack runs or never ran. Or it has other logic revisions, and `own_rules`
            is empty.
    """
    former = generation_of(home)
    own_rules = own_rules or ("" if former.captured else former.own_rules)
    _refuse(home, beside_allowed=bool(own_rules))
    return move_away(home, former, own_rules)


def move_away(home: Home, former: Generation, own_rules: str) -> tuple[Generation, Path]:
    """Write the next generation's number, then move the files of the former one.

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
            f" {', '.join(shadows)}. Their files must be moved too; nothing was changed. After the"
            " move, this stack's own logic revision decides"
        )
        raise StackError(message, repair=OWN_RULES)


def refuse_half_captured(home: Home, options: Options) -> None:
    """Raise `StackError` if a capture was interrupted, or `options` lack a part for a capture."""
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
    """Record that the log holds all rows, so the capture has finished."""
    present = Generation(generation_of(home).number)
    write_json(home.path / _FILE, asdict(present), is_durable=True)
