"""A new generation of the log: what Postgres holds is captured again, into empty topics.

For a history that can't be brought back: `stock.events` lost or cut off, a replication slot that
Postgres has dropped, another Postgres. All facts stand in Postgres, so what the workers make of
them is the same; what the log alone knew is gone, such as rows that were deleted or changed since.

`prepare` works on a stopped home; the next start does the rest. Until that has come to its end
nobody reads the log: a capture that was cut off sends rows again under other names, and is thrown
away by preparing another generation.
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
# The broker's files last: as long as they are there, a start refuses what was cut off here.
_MOVED: Final = ("revisions", "archive", "workers", "kafka")
CAPTURING: Final = ("postgres", "kafka", "connect", "connector")


@dataclass(frozen=True, slots=True)
class Generation:
    """The number of the log's incarnation, and whether its capture has come to its end.

    `own_rules` names who has asked that the logic revision of this stack's code decides from then
    on, whichever did before; empty if nobody has.
    """

    number: int = 1
    captured: bool = True
    own_rules: str = ""


def generation_of(home: Home) -> Generation:
    """The home's generation; the first one has no file.

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
        f"{file}: expected a number and whether it is captured, found {found}; the number stands "
        "in the names below former/ of this home, plus 1"
    )
    return StackError(message)


def prepare(home: Home, own_rules: str = "") -> tuple[Generation, Path]:
    """Put topics, archive and files of the workers aside; gives the next generation and the place.

    Other logic revisions go with them if `own_rules` says who asks for it. What was asked for a
    capture that did not come to its end is asked for the next one too.

    Raises:
        StackError: the stack runs, never ran, or another logic revision stands beside it.
    """
    former = generation_of(home)
    own_rules = own_rules or ("" if former.captured else former.own_rules)
    _refuse(home, beside_allowed=bool(own_rules))
    return put_aside(home, former, own_rules)


def put_aside(home: Home, former: Generation, own_rules: str) -> tuple[Generation, Path]:
    """Write the number of the next generation and move the files of the former one."""
    aside = home.path / "former" / f"generation-{former.number}"
    aside.mkdir(parents=True, mode=0o700, exist_ok=True)
    coming = Generation(former.number + 1, captured=False, own_rules=own_rules)
    write_json(home.path / _FILE, asdict(coming))
    for name in _MOVED:
        if (home.path / name).exists():
            shutil.move(home.path / name, aside / name)
    return coming, aside


def _refuse(home: Home, *, beside_allowed: bool) -> None:
    beside = {path.name: Home(path) for path in sorted(home.path.glob("revisions/v*"))}
    if any(read_runtime(one).running for one in (home, *beside.values())):
        message = "the stack runs; its topics can't be put aside"
        raise StackError(message, repair="inventory down")
    if not home.postgres.is_dir():
        message = f"{home.path} has no database to capture: there is nothing to begin anew"
        raise StackError(message)
    if beside and not beside_allowed:
        message = (
            f"{', '.join(beside)} stands beside this stack and reads the former topics: it can only"
            " be put aside, and what decides is then this stack's own logic revision"
        )
        raise StackError(message, repair=OWN_RULES)


def refuse_half_captured(home: Home, options: Options) -> None:
    """Raise `StackError` if a capture was cut off, or these parts can't make the coming one."""
    generation = generation_of(home)
    if generation.captured:
        return
    if home.kafka.exists():
        message = f"the capture of generation {generation.number} was cut off"
        raise StackError(message, repair=PREPARE)
    missing = [name for name in CAPTURING if not options.wants(name)]
    if missing:
        message = f"generation {generation.number} is not captured yet: {missing[0]} has to start"
        raise StackError(message, repair=UP)


def captured(home: Home) -> None:
    """Note that all rows stand in the log."""
    write_json(home.path / _FILE, asdict(Generation(generation_of(home).number)))
