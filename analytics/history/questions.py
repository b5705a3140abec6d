"""Questions that analysts ask, one SQL file each, for DuckDB and Spark alike.

The first line of a file is a comment with the question. Further comments explain the columns.
"""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from analytics.damage import Damage

_LISTS: Final = "`inventory sql --questions` lists the questions"
_COMMENT: Final = "-- "
FOLDER: Final = Path(__file__).resolve().parents[1] / "questions"


class UnknownQuestion(Damage, ValueError):
    """No file answers a question of this name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the statement that answers it. `note` explains the columns of the answer."""

    name: str
    text: str
    note: str
    statement: str


def questions() -> tuple[Question, ...]:
    """Return all questions, sorted by name."""
    return tuple(map(_read, sorted(FOLDER.glob("*.sql"))))


def question(name: str) -> Question:
    """Return one question.

    Raises:
        UnknownQuestion: no file answers it. The message has the names of all questions.
    """
    known = {one.name: one for one in questions()}
    if name not in known:
        problem = f"question {name!r}: expected one of {', '.join(known)}"
        raise UnknownQuestion(problem, "nothing was computed", _LISTS)
    return known[name]


def _read(path: Path) -> Question:
    statement = path.read_text(encoding="utf-8")
    comments = takewhile(lambda line: line.startswith(_COMMENT), statement.splitlines())
    text, *notes = (line.removeprefix(_COMMENT) for line in comments)
    return Question(path.stem, text, " ".join(notes), statement.rstrip().rstrip(";"))
