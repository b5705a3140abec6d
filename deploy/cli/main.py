"""Entry point of the `inventory` command.

The function of a command imports the modules that it calls. So `inventory status` starts in a
fraction of a second, and works even if Spark or Django is not installed.
"""

import os
import sys
from importlib import import_module
from typing import Any, Final

import typer
from pydantic import ValidationError
from typer.core import TyperGroup
from typing_extensions import override

from deploy import output
from deploy.cli import (
    audit,
    backfill,
    backfill_clean,
    backfill_diff,
    backfill_group,
    backfill_plan,
    backfill_prove,
    backfill_rearchive,
    backfill_review,
    backfill_simulate,
    backfill_switch,
    backfill_tables,
    bench,
    capture,
    generation,
    history,
    leaks,
    people,
    records,
    revision,
    sql,
    stack,
    trading,
    workers,
)
from deploy.errors import StackError
from deploy.variables import refuse_unknown

_CONTEXT: Final = {"help_option_names": ["-h", "--help"]}
_EXPECTED: Final = (StackError,)


class Commands(TyperGroup):
    """The group of all commands. If a value has a wrong type, the error shows the value."""

    @override
    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            typer.BadParameter: a value is invalid. This method puts the value before typer's
            message.
        """
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = f"{error.__cause__.errors()[0]['input']!r}: {error.message}"
            raise


app = typer.Typer(
    cls=Commands,
    help=(
        "Run the retail inventory stack, simulate trade, explain numbers, recompute and verify."
        " Begin with `inventory demo`, or with `inventory up --detach` for a stack without data."
    ),
    no_args_is_help=True,
    add_completion=False,
    context_settings=_CONTEXT,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
for group in (
    stack,
    generation,
    capture,
    workers,
    trading,
    history,
    backfill_group,
    backfill,
    backfill_clean,
    backfill_diff,
    backfill_plan,
    backfill_prove,
    backfill_rearchive,
    backfill_review,
    backfill_simulate,
    backfill_switch,
    backfill_tables,
    sql,
    people,
    records,
    revision,
    audit,
    leaks,
    bench,
):
    group.register(app)


def main() -> None:
    """Run the command line, and exit. Print an expected error as a message without a traceback."""
    output.escape_unencodable()
    try:
        refuse_unknown(os.environ)
        _run()
    except ValidationError as error:
        for wrong in error.errors():
            name = "INVENTORY_" + "_".join(str(part) for part in wrong["loc"]).upper()
            print(f"error: {name}={wrong['input']!r}: {wrong['msg']}", file=sys.stderr)
        sys.exit(1)
    except _expected() as error:
        message, repair = _message_and_repair(error)
        print(f"error: {message}", file=sys.stderr)
        if repair:
            print(f"repair: {repair}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 1))
    except OSError as error:
        if error.filename is None:  # after a write to a full disk, the error has no file name
            print(f"error: {error.strerror or error}\nrepair: inventory status", file=sys.stderr)
        else:
            print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    """Run the command.

    Raises:
        StackError: an argument has bytes that are not UTF-8. Only paths may have such bytes.
    """
    try:
        app()
    except UnicodeEncodeError as error:
        for argument in sys.argv[1:]:
            if any("\udc80" <= character <= "\udcff" for character in argument):
                message = f"{argument!r}: expected an argument in UTF-8"
                raise StackError(message) from error
        raise


def _message_and_repair(error: Exception) -> tuple[str, str]:
    """Return the message of an expected error, and the command that repairs or shows its cause."""
    if isinstance(error, StackError):
        return str(error), error.repair
    if type(error).__name__ == "KafkaException":
        return f"Kafka: {error.args[0].str()}", "inventory status"
    return str(error), "inventory status" if type(error).__name__ == "OperationalError" else ""


def _expected() -> tuple[type[Exception], ...]:
    """Return the error classes whose message is printed without a traceback.

    Such a message is written for the person who ran the command. Classes of modules that are not
    imported are left out, because no code can have raised them.
    """
    found: list[type[Exception]] = [*_EXPECTED]
    for module, name in (
        ("ledger.kernel.errors", "LedgerError"),
        ("bench.errors", "BenchFailed"),
        ("bench.faults.probe", "NotFresh"),
        ("analytics.damage", "Damage"),
        ("analytics.kafka", "TopicUnreadable"),
        ("cdc.capture.client", "CaptureError"),
        ("streams.sinks.active", "RevisionSwitched"),
        ("streams.sinks.proposals", "ApprovalInFlight"),
        ("cdc.contracts.versions", "UnreadableRecord"),
        ("psycopg", "OperationalError"),
        ("django.db.utils", "OperationalError"),
        ("confluent_kafka", "KafkaException"),
        ("ledger.audit.head", "UnreadableHead"),
        ("analytics.verification.late", "LateUnexplained"),
    ):
        if module in sys.modules:
            error = getattr(import_module(module), name, None)
            if error is not None:
                found.append(error)
    return tuple(found)


if __name__ == "__main__":
    main()
