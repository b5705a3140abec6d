"""`inventory sql --history`: statements and questions over archive and runs, and their shell."""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analytics.backfill.plan import directory_of
from analytics.backfill.run import runs_dir
from analytics.damage import Damage
from analytics.history.duck import DuckHistory, QueryRefused
from analytics.history.opened import History, Request, open_history
from analytics.history.questions import question, questions
from cdc.settings import Connections
from deploy import output
from deploy.cli.history_output import show
from deploy.cli.query_output import Form
from deploy.cli.sql_shell import Shell
from deploy.errors import StackError
from deploy.stack.home import default_home
from inventory.explain.formatting import counted_text

_NO_RUN: Final = "none"


@dataclass(frozen=True, slots=True)
class Source:
    """The history to query: the archived log, and the results of the run `run`.

    `run` may be `none`: then only the log is read. `whole_archive` adds the records after the run's
    end. `diff` is a directory that `backfill diff --out` has written. `out` is the directory for
    the tables, or None for the default directory.
    """

    run: str
    whole_archive: bool
    diff: Path | None
    out: Path | None = None

    @property
    def request(self) -> Request:
        """Return the request for the tables of this history."""
        run = None if self.run == _NO_RUN else self.run
        return Request(run, self.whole_archive, self.out, self.diff)


def query(source: Source, statement: str, name: str, form: Form) -> None:
    """Print the answer to a statement, or to the question `name`. Open a shell if both are empty.

    Raises:
        StackError: both are given, the statement is refused, or statements in the shell failed.
    """
    if statement and name:
        message = f"got a statement and --question {name}: expected only one; nothing was queried"
        raise StackError(message)
    with refusals():
        asked = statement
        if name:
            found = question(name)
            output.errors.print(f"{found.text} {found.note}")
            asked = found.statement
        with session(source) as (duck, history):
            if asked:
                for answer in duck.run(asked):
                    show(answer, form)
                return
            _refuse_form(form)
            failed = Shell(duck, history).run()
    if failed:
        message = f"{counted_text(failed, 'statement')} failed; see the messages above"
        raise StackError(message)


def list_questions(form: Form) -> None:
    """List every question with its name."""
    rows = [(one.name, one.text) for one in questions()]
    if form.json:
        output.as_json([{"name": name, "question": text} for name, text in rows])
    elif form.as_csv:
        csv.writer(sys.stdout).writerows([("name", "question"), *rows])
    else:
        output.table("", ("name", "question"), rows)


@contextmanager
def session(source: Source) -> Iterator[tuple[DuckHistory, History]]:
    """Open DuckDB over the tables of `source`, and close it at the end. Write missing tables first.

    Yield the open DuckDB, and the `History` that lists its tables and their files.
    """
    settings = Connections(home=default_home())
    history = open_history(settings, source.request, written)
    if history.run is None and source.run != _NO_RUN:
        step = "`inventory backfill run` computes the others"
        output.errors.print(f"no run exists yet, so only the tables of the log are there; {step}")
    if history.run is not None:
        newest = directory_of(runs_dir(settings), source.run).name
        if newest != history.run:
            output.errors.print(f"run {newest} is unfinished; the tables show run {history.run}")
    duck = DuckHistory(history.files, history.spill)
    try:
        yield duck, history
    finally:
        duck.close()


@contextmanager
def refusals() -> Iterator[None]:
    """Replace a `QueryRefused` or `Damage` of the block by a `StackError`.

    The message of the `StackError` has the original problem. Its repair is the next step that the
    original error names.
    """
    try:
        yield
    except QueryRefused as error:
        message = f"{error.problem}\n{error.kept}"
        raise StackError(message, repair=error.step) from error
    except Damage as error:
        message = f"{error.problem}; {error.kept}" if error.kept else error.problem
        raise StackError(message, repair=error.step) from error


def written(group: str, done: int, missing: int) -> None:
    """Print the progress of writing the tables of `group`.

    `missing` is the number of partitions to write, and `done` the number already written.
    """
    partitions = counted_text(missing, "partition")
    output.errors.print(f"tables of the {group}: {done} of {partitions} written")


def _refuse_form(form: Form) -> None:
    if form != Form():
        message = "--csv, --json and --parquet need a statement or --question; nothing was queried"
        raise StackError(message, repair="inventory sql --history")
