"""`inventory backfill rearchive`: move an archive away, write it again, and compare both."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import backfill_options as options
from deploy.cli.backfill_group import RELEASED_S, add_command
from deploy.errors import StackError
from deploy.stack.home import default_home
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from analytics.archive.former import FormerPartition
    from analytics.archive.rebuilt import Rebuilt
    from cdc.settings import Connections

_REARCHIVE: Final = "inventory backfill rearchive --yes"
_REPORT: Final = "inventory backfill rearchive --report"
_LEAST_S: Final = 600.0
_RECORDS_PER_S: Final = 5_000  # lower than the rate of an archiver on a slow machine
_COLUMNS: Final = (
    "partition",
    "former_files",
    "former_records",
    "records",
    "former_digest",
    "digest",
    "verdict",
)


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(rearchive)


def rearchive(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the move.")] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Move nothing. Compare with the former archive.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Move the archive away, and write it again from the first record of stock.events.

    If the stack runs, the command waits until the new archive reaches the end of the topic. Then it
    compares the records of both archives, partition by partition. If no stack runs, the archiver of
    the next `inventory up` writes the new archive. Runs of the former archive can't be published
    any more. If the topic has lost its first records, the command moves nothing.

    Exit code 1: the running stack did not write the archive again, or a partition differs. With
    --report, exit code 1: a partition differs, can't be read, or isn't written again yet.
    """
    archive = default_home() / "archive"
    if report:
        found = _compared(archive, _newest_former(archive))
        _print(found, json=json)
        raise typer.Exit(0 if all(one.is_equal for one in found) else 1)
    former = _moved(archive, yes=yes)
    output.errors.print(f"the former archive is in {former}")
    parts = _read(former)
    if not json:
        files, records = sum(one.files for one in parts), sum(one.records for one in parts)
        held = f"{counted_text(files, 'file')} with {counted_text(records, 'record')}"
        output.console.print(f"{held} in {former}")
    settings = options.settings_for(options.ARCHIVED)
    problem = _written_again(settings, parts)
    if problem:
        output.errors.print(f"{problem}; `{_REPORT}` compares both archives afterwards")
    differs = False
    if json or not problem:
        found = _compared(archive, former, parts)
        differs = any(one.differs for one in found)
        _print(found, json=json)
    raise typer.Exit(1 if differs or (problem and settings.kafka_bootstrap) else 0)


def _moved(archive: Path, *, yes: bool) -> Path:
    """Move the archive away. Return its new path."""
    if not yes:
        message = (
            f"{archive} would be moved away, and runs computed from it could not be published; "
            "nothing was moved"
        )
        raise StackError(message, repair=_REARCHIVE)
    from analytics.archive.former import has_files  # noqa: PLC0415 -- as above
    from analytics.archive.move_away import move_archive_away  # noqa: PLC0415 -- loads the format
    from analytics.archive.names import HEAD, MANIFEST, present  # noqa: PLC0415 -- as above

    known = any(present(archive, name).exists() for name in (MANIFEST, HEAD))
    if not known and not has_files(archive):
        message = f"{archive}: nothing is archived yet"
        raise StackError(message)
    _refuse_truncated(options.settings_for(options.ARCHIVED))
    former = move_archive_away(archive, timeout_s=RELEASED_S)
    if former is None:
        message = (
            f"{archive}: an archiver has held the lock of this archive for {RELEASED_S:.0f} s; "
            "nothing was moved"
        )
        raise StackError(message, repair=f"inventory down && {_REARCHIVE}")
    return former


def _refuse_truncated(settings: "Connections") -> None:
    """Raise `StackError` if a running stack's `stock.events` lacks its first records.

    Raise it also if the topic can't be read.
    """
    if not settings.kafka_bootstrap:
        return
    from confluent_kafka import KafkaException  # noqa: PLC0415 -- loads the Kafka client

    from analytics import kafka  # noqa: PLC0415 -- as above
    from cdc.contracts.topics import STOCK_EVENTS  # noqa: PLC0415 -- as above

    try:
        first = kafka.start_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)
    except KafkaException as error:
        message = f"{STOCK_EVENTS} can't be read, so nothing was moved: {error}"
        raise StackError(message, repair=f"inventory up && {_REARCHIVE}") from error
    lost = {number: offset for number, offset in first.items() if offset}
    if lost:
        message = (
            f"{STOCK_EVENTS} lacks its first records, so the archive can't be written from it "
            f"again. Nothing was moved. First offsets by partition: {lost}"
        )
        raise StackError(message)


def _read(former: Path) -> "list[FormerPartition]":
    """Read all files of a former archive.

    Return each partition's number of records and the digest of its records. A large archive takes
    minutes.
    """
    from analytics.archive.former import former_partitions  # noqa: PLC0415 -- loads the format

    found = []
    for one in former_partitions(former):
        records = counted_text(one.records, "record")
        output.errors.print(f"partition {one.partition}: {records} read")
        found.append(one)
    return found


def _written_again(settings: "Connections", parts: "Sequence[FormerPartition]") -> str:
    """Write the archive again up to the topic's present end, or wait for the archiver to do so.

    Return "", or the reason if the archive isn't complete, for example because no stack runs.
    """
    if not settings.kafka_bootstrap:
        return "no stack runs here: `inventory up` writes the archive again"
    from confluent_kafka import KafkaException  # noqa: PLC0415 -- loads the Kafka client

    from analytics.damage import Damage  # noqa: PLC0415 -- as above
    from analytics.kafka import TopicUnreadable  # noqa: PLC0415 -- as above

    timeout_s = max(_LEAST_S, sum(one.records for one in parts) / _RECORDS_PER_S)
    try:
        _archive(settings, timeout_s)
    except (KafkaException, TopicUnreadable, Damage) as error:
        return f"the archive is not written again yet: {error}"
    return ""


def _archive(settings: "Connections", timeout_s: float) -> None:
    from analytics import kafka  # noqa: PLC0415 -- loads the Kafka client
    from analytics.archive.complete import archive_until  # noqa: PLC0415 -- as above
    from cdc.contracts.topics import STOCK_EVENTS  # noqa: PLC0415 -- as above

    ends = kafka.end_offsets(settings.kafka_bootstrap, STOCK_EVENTS, settings.partitions)
    records_are = counted_text(sum(ends.values()), "record is", "records are")
    output.errors.print(f"{records_are} being written to the archive again, from {STOCK_EVENTS}")
    archive_until(settings, ends, timeout_s=timeout_s)


def _newest_former(archive: Path) -> Path:
    found = [
        (int(number), path)
        for path in (archive.parent / "former").glob(f"{archive.name}-*")
        if (number := path.name.removeprefix(f"{archive.name}-")).isdecimal()
    ]
    if not found:
        message = f"{archive.parent / 'former'} holds no former archive; nothing was compared"
        raise StackError(message, repair=_REARCHIVE)
    return max(found)[1]


def _compared(
    archive: Path, former: Path, parts: "Sequence[FormerPartition] | None" = None
) -> "list[Rebuilt]":
    """Compare each partition of the former archive with the same partition of the present archive.

    `parts` has the content of the former archive. If it is None, read that archive first.
    """
    from analytics.archive.manifest import Manifest  # noqa: PLC0415 -- loads the file format
    from analytics.archive.rebuilt import compare  # noqa: PLC0415 -- as above

    output.errors.print(f"comparing {former} with {archive}")
    return list(compare(_read(former) if parts is None else parts, Manifest(archive)))


def _print(found: "Sequence[Rebuilt]", *, json: bool) -> None:
    rows: list[dict[str, Any]] = [one.as_json() for one in found]
    verdicts = [row["verdict"] for row in rows]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    if json:
        output.as_json({"partitions": rows, "verdicts": counts})
        return
    table = [[str(row[name])[:12] for name in _COLUMNS[:-1]] + [row["verdict"]] for row in rows]
    output.table("former archive and the present one, at the same offsets", _COLUMNS, table)
    for row in rows:
        for problem in row["problems"]:
            output.console.print(f"file of the former archive not read: {problem}")
    shown = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    output.console.print(f"partitions: {shown or 'none'}")
