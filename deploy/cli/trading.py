"""Commands that write rows into Postgres: simulate, import-sales, import-codes."""

import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from deploy import output
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.stack.django import connect_django

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Names of the simulator's scenarios, repeated here because an import of the simulator loads Django.
# A test compares both lists.
SCENARIOS: Final = (
    "normal",
    "black-friday",
    "supplier-strike",
    "till-offline",
    "price-war",
    "flash_sale",
    "disorder",
    "sales_only",
)
_FORMER_SCENARIOS: Final = ("everyday",)
_SIZES: Final = ("demo", "full")
_ALL_PERMILLE: Final = 1000
_INTERRUPTED: Final = 130
_STORES: Final[dict[str, Literal["single", "country"]]] = {"single": "single", "country": "country"}


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(simulate)
    app.command("import-sales")(import_sales)
    app.command("import-codes")(import_codes)


def _progress(done: object) -> None:
    output.errors.print(str(done))


def simulate(
    *,
    seed: Annotated[int, typer.Option(help="Seed of the random plan.")] = 1,
    rate: Annotated[str, typer.Option(help="Sale lines a second that customers ask for.")] = "5",
    minutes: Annotated[str, typer.Option(help="Minutes to run; 0 runs until Ctrl-C.")] = "1",
    scenario: Annotated[str, typer.Option(help=f"Scenario: {', '.join(SCENARIOS)}.")] = "normal",
    size: Annotated[
        str,
        typer.Option(help="If no retailer exists, write one of this size first: demo or full."),
    ] = "demo",
    leave: Annotated[
        int, typer.Option(help="Share of proposals that real people decide, in thousandths.")
    ] = 0,
    patience: Annotated[
        str, typer.Option(help="Seconds before simulated buyers answer a proposal.")
    ] = "5",
    json: Json = False,
) -> None:
    """Simulate customers, thieves, buyers, suppliers and staff of a retailer.

    The simulation writes with the functions that the pages use. Ctrl-C ends it: the command prints
    the results so far, with exit code 130.
    """
    if scenario not in {*SCENARIOS, *_FORMER_SCENARIOS}:
        message = f"--scenario {scenario!r}: expected one of {', '.join(SCENARIOS)}"
        raise StackError(message)
    option_checks.check_choice("--size", size, _SIZES)
    if not 0 <= leave <= _ALL_PERMILLE:
        message = f"--leave {leave}: expected 0 to {_ALL_PERMILLE}"
        raise StackError(message)
    numbers = {
        "rate": _finite("--rate", rate, least="above 0"),
        "minutes": _finite("--minutes", minutes, least="of 0 or more"),
        "patience_s": _finite("--patience", patience, least="of 0 or more"),
    }
    connect_django()
    import structlog  # noqa: PLC0415 -- Django has loaded it by now

    # Standard output is for the summary only, so that a program can read it.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=sys.stderr))
    from bench.retailer import simulate as trading  # noqa: PLC0415 -- needs Django set up

    plan = trading.Trading(seed=seed, scenario=scenario, size=size, left_permille=leave, **numbers)
    done = trading.run(plan, _progress)
    if json:
        output.as_json(done.as_json())
    else:
        output.table("trading", ("what", "how much"), done.summary())
    if done.is_interrupted:
        raise typer.Exit(_INTERRUPTED)


def _finite(option: str, text: str, *, least: str) -> float:
    """Return the number in `text`, the value of `option`.

    Raises:
        StackError: it is no finite number, is negative, or is 0 although `least` is "above 0".
    """
    value = option_checks.parse_finite(text)
    if value is None or value < 0 or (value == 0 and least == "above 0"):
        message = f"{option} {text}: expected a finite number {least}"
        raise StackError(message)
    return value


def import_sales(
    file: Annotated[Path, typer.Argument(help="Sales file in the UCI Online Retail format.")],
    *,
    stores: Annotated[
        str, typer.Option(help="single: one location. country: one location per country.")
    ] = "single",
    rate: Annotated[str, typer.Option(help="Lines a second, or max for no limit.")] = "max",
    limit: Annotated[int | None, typer.Option(help="Largest number of lines to read.")] = None,
    json: Json = False,
) -> None:
    """Import a sales file into Postgres. List the invalid rows, and import all others."""
    option_checks.check_retail_file(file)
    option_checks.check_choice("--stores", stores, tuple(_STORES))
    option_checks.check_int("--limit", limit)
    per_second = _rate(rate)
    connect_django()
    from ledger.imports.importer import import_sales as run  # noqa: PLC0415 -- needs Django set up
    from ledger.services import ServiceError  # noqa: PLC0415 -- as above

    try:
        report = run(file, stores=_STORES[stores], rate=per_second, limit=limit, progress=_progress)
    except ServiceError as error:
        message = f"{error}. Nothing was imported"
        raise StackError(message) from error
    if json:
        output.as_json(report.as_json())
    else:
        output.console.print(str(report))


def import_codes(
    file: Annotated[Path, typer.Argument(help="CSV file: sku,code,supplier,units,active.")],
    *,
    dry_run: Annotated[bool, typer.Option(help="Check every row and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Import GTINs and suppliers' codes into Postgres. If a row is invalid, import none."""
    content = option_checks.content_of(file)
    connect_django()
    from ledger.imports import code_import  # noqa: PLC0415 -- needs Django set up
    from ledger.imports.code_file import decoded  # noqa: PLC0415 -- as above
    from ledger.services import LedgerError  # noqa: PLC0415 -- as above

    try:
        text = decoded(content)
        plan = code_import.check_codes(text)
        counts = plan.counts
        if not (dry_run or plan.bad_rows):
            counts = code_import.import_codes(text)
    except LedgerError as error:
        message = f"{error}. Nothing was imported"
        raise StackError(message) from error
    if json:
        output.as_json(code_import.report(counts, plan.bad_rows, is_written=not dry_run))
    else:
        output.console.print(code_import.report_text(counts, plan.bad_rows, is_written=not dry_run))
    if plan.bad_rows:
        raise typer.Exit(1)


def _rate(text: str) -> float | None:
    if text == "max":
        return None
    rate = option_checks.parse_finite(text)
    if rate is None or rate <= 0:
        message = f"--rate {text!r}: expected a number of lines per second above 0, or max"
        raise StackError(message)
    return rate
