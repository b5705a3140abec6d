"""`inventory backfill diff`: its options, and the output of a comparison as table, JSON or file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import Archive, Json, Python, use_archive
from deploy.errors import StackError
from deploy.stack.home import default_home
from deploy.stack.runtime import load_environment
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from analytics.backfill.diff.comparison import Diff
    from analytics.backfill.diff.divergence import Divergence, Trees
    from analytics.backfill.diff.scratch import Scratch
    from analytics.backfill.diff.sides import Sides
    from cdc.settings import Connections

_DEFAULT_ROWS: Final = 20
_EXPLANATION: Final = ("section", "line", "A", "B", "")

RunOrLive = Annotated[
    str,
    typer.Argument(
        help="Finished run: its name, `last`, or the number of its logic revision. If several runs "
        "fit, the command takes the newest one that ends at the same offsets as the other side. "
        "`live`: the decisions that the workers published."
    ),
]
By = Annotated[
    list[str],
    typer.Option(help="Group by store, supplier, reason or week; repeatable. Default: store."),
]
Limit = Annotated[int, typer.Option(min=1, help="Largest number of rows in each table.")]
Offset = Annotated[
    int,
    typer.Option(
        min=0, help="Number of rows to skip in each list of differences (largest money first)."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="STORE|SKU",
        help="Show the first record after which this key differs, with both explanations.",
    ),
]
Codes = Annotated[
    list[Path] | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="With --key: source tree with the rules of run A or B; repeatable.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Directory for the complete difference as Parquet."),
]
Html = Annotated[Path | None, typer.Option(dir_okay=False, help="File for a page with charts.")]


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(diff)


def diff(
    a: RunOrLive,
    b: RunOrLive,
    *,
    by: By = ["store"],  # noqa: B006 -- typer reads the default and never changes it
    limit: Limit = _DEFAULT_ROWS,
    offset: Offset = 0,
    key: Key = None,
    code: Codes = None,
    python: Python = "",
    out: Out = None,
    html: Html = None,
    archive: Archive = "",
    json: Json = False,
) -> None:
    """Compare the decisions of two finished runs over the same records, without Kafka.

    If A or B is `live`, the command compares only open decisions: those that the workers have
    published, and those at the end of the run. Such a comparison needs the running stack.

    Exit code 0: equal; 1: different; 2: the two sides can't be compared.
    """
    from analytics.backfill.diff.scratch import DIMENSIONS  # noqa: PLC0415 -- loads decisions

    _use_archive(archive)
    for dimension in by:
        option_checks.check_choice("--by", dimension, DIMENSIONS)
    if key is not None:
        if out is not None or html is not None:
            message = "--key shows one key, so it can't be used with --out or --html"
            raise typer.BadParameter(message)
        _show_key((a, b), key, tuple(code or ()), python, json=json)
    _compare((a, b), _Shown(tuple(dict.fromkeys(by)), limit, offset, json), out, html)


@dataclass(frozen=True, slots=True)
class _Shown:
    """Options of the output: dimensions to group by, rows per table, rows to skip, JSON."""

    by: Sequence[str]
    limit: int
    offset: int
    json: bool


def _settings(*, needs_stack: bool = False) -> "Connections":
    """Return the settings. If `needs_stack`, load the running stack's addresses first.

    Only a comparison with `live` needs these addresses.
    """
    if needs_stack:
        _load_environment()
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    if needs_stack:
        return Connections()
    return Connections(home=default_home())


def _use_archive(named: str) -> None:
    """Read the archive `named` from now on.

    Raise `NotComparable` (exit code 2) if its address is refused.
    """
    from analytics.archive.storage import NoArchive  # noqa: PLC0415 -- loads the file format
    from analytics.backfill.diff.compared_runs import KEPT, NotComparable  # noqa: PLC0415 -- Parquet

    try:
        use_archive(named)
    except NoArchive as error:
        raise NotComparable(error.problem, KEPT, error.step) from error


def _load_environment() -> None:
    """Set the addresses of the running stack. Raise `NotComparable` if no stack runs."""
    from analytics.backfill.diff.compared_runs import KEPT, NotComparable  # noqa: PLC0415 -- Parquet

    try:
        load_environment()
    except StackError as error:
        raise NotComparable(str(error), KEPT, error.repair or "inventory up") from error


def _compare(
    names: tuple[str, str], shown: _Shown, out: Path | None, html: Path | None
) -> NoReturn:
    from analytics.backfill.diff.scratch import Scratch  # noqa: PLC0415 -- loads Parquet

    with Scratch() as scratch:
        found = _compared(names, scratch)
        files = _written(found, out, html)
        if shown.json:
            output.as_json(_as_json(found, shown) | {"files": files})
        else:
            _print(found, shown)
            for path in files:
                output.console.print(f"wrote {path}")
    raise typer.Exit(found.exit_code)


def _compared(names: tuple[str, str], scratch: "Scratch") -> "Diff[Sides]":
    from analytics.backfill.diff import with_live  # noqa: PLC0415 -- loads the Kafka client
    from analytics.backfill.diff.comparison import compare  # noqa: PLC0415 -- loads Parquet

    if not with_live.names_live(*names):
        return compare(_settings(), *names, scratch, _partitions)
    live, sides = with_live.live_and_run(_settings(needs_stack=True), *names)
    return with_live.compare_with_live(live, sides, scratch, _partitions)


def _partitions(done: int, planned: int) -> None:
    output.errors.print(f"{done} of {counted_text(planned, 'partition')} compared")


def _written(found: "Diff[Sides]", out: Path | None, html: Path | None) -> list[str]:
    from analytics.backfill.diff.page import write_page  # noqa: PLC0415 -- only with --html
    from analytics.backfill.diff.tables import write_tables  # noqa: PLC0415 -- only with --out

    tables = () if out is None else write_tables(found, out)
    pages = () if html is None else (write_page(found, html),)
    return [str(path) for path in (*tables, *pages)]


def _as_json(found: "Diff[Sides]", shown: _Shown) -> dict[str, Any]:
    """Return the report for --json.

    `rows_not_shown` has the number of rows that --limit and --offset left out, by kind of
    difference.
    """
    from analytics.backfill.diff.revised import KINDS  # noqa: PLC0415 -- as in `_compare`

    page = {"limit": shown.limit, "offset": shown.offset}
    ranked = {kind: list(found.scratch.ranked(kind, **page)) for kind in KINDS}
    return found.as_json() | {
        "groups": [row for row in found.groups if row["dimension"] in shown.by],
        "rows": ranked,
        "rows_not_shown": {kind: found.count(kind) - len(rows) for kind, rows in ranked.items()},
    }


def _print(found: "Diff[Sides]", shown: _Shown) -> None:
    from analytics.backfill.diff import wording  # noqa: PLC0415 -- as in `_compare`

    runs = f"A {found.runs.a.name}, B {found.runs.b.name}"
    for note in found.runs.notes():
        output.console.print(note)
    output.table(runs, wording.TOTAL_COLUMNS, list(wording.total_rows(found)))
    output.table("", wording.COUNT_COLUMNS, list(wording.count_rows(found)))
    for kind in wording.KIND_TITLES:
        if found.count(kind):
            for dimension in shown.by:
                _print_groups(found, kind, dimension, shown.limit)
            _print_rows(found, kind, shown)
    output.console.print(f"digest {found.digest}")


def _print_rows(found: "Diff[Sides]", kind: str, shown: _Shown) -> None:
    from analytics.backfill.diff import wording  # noqa: PLC0415 -- as in `_compare`

    ranked = found.scratch.ranked(kind, limit=shown.limit, offset=shown.offset)
    rows = [wording.row_cells(kind, row) for row in ranked]
    title = f"{wording.KIND_TITLES[kind]}, largest money first"
    output.table(title, wording.row_columns(kind), rows)
    hidden = found.count(kind) - len(rows)
    _print_hidden(wording.hidden_text(hidden, "--limit, --offset and --out show them"))


def _print_groups(found: "Diff[Sides]", kind: str, dimension: str, limit: int) -> None:
    from analytics.backfill.diff import wording  # noqa: PLC0415 -- as in `_compare`

    groups = [row for row in found.groups if (row["kind"], row["dimension"]) == (kind, dimension)]
    cells = [wording.group_cells(row) for row in groups[:limit]]
    output.table(f"{wording.KIND_TITLES[kind]} by {dimension}", wording.GROUP_COLUMNS, cells)
    hidden = len(groups) - len(cells)
    _print_hidden(wording.hidden_text(hidden, "--limit and --out show them"))


def _print_hidden(text: str) -> None:
    if text:
        output.console.print(text)


def _show_key(
    names: tuple[str, str], key: str, trees: tuple[Path, ...], python: str, *, json: bool
) -> NoReturn:
    from analytics.backfill.diff.divergence import Trees  # noqa: PLC0415 -- loads the rules

    chosen = Trees(tuple(map(Path.resolve, trees)), option_checks.interpreter(python))
    found = _diverged(names, key, chosen)
    if json:
        output.as_json({"key": key, "equal": True} if found is None else found.as_json())
    elif found is None:
        output.console.print(f"{key}: both sides made the same decisions")
    else:
        _print_key(found)
    raise typer.Exit(0 if found is None else 1)


def _diverged(names: tuple[str, str], key: str, trees: "Trees") -> "Divergence | None":
    from analytics.backfill.diff import live_divergence, with_live  # noqa: PLC0415 -- Kafka client
    from analytics.backfill.diff.compared_runs import compared_runs  # noqa: PLC0415 -- as above
    from analytics.backfill.diff.divergence import divergence  # noqa: PLC0415 -- as above
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above

    if with_live.names_live(*names):
        settings = _settings(needs_stack=True)
        live, sides = with_live.live_and_run(settings, *names)
        return live_divergence.divergence_from_live(settings, live, sides, key, trees)
    settings = _settings()
    return divergence(settings, compared_runs(runs_dir(settings), *names), key, trees)


def _print_key(found: "Divergence") -> None:
    from analytics.backfill.diff import wording  # noqa: PLC0415 -- as in `_compare`

    record = f"stock.events[{found.partition}]@{found.offset}"
    read = found.record()
    about = "" if read is None else f": {read.op} of {read.table} {read.row_id}, {read.verdict}"
    output.console.print(f"{found.key}: {found.about} {record}{about}")
    for problem in filter(None, (found.a.problem, found.b.problem)):
        output.console.print(problem)
    lines = [(*line, "" if line[2] == line[3] else "differs") for line in found.lines()]
    output.table("", _EXPLANATION, lines)
    for kind, title in wording.KIND_TITLES.items():
        rows = [wording.row_cells(kind, one.row) for one in found.differences if one.kind == kind]
        if rows:
            output.table(f"{title} of this key", wording.row_columns(kind), rows)
