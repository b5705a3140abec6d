"""Verbs that write facts through Postgres: simulate, import-sales."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from deploy import output
from deploy.errors import StackError
from deploy.stack.django import connect_django

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

_STORES: Final[dict[str, Literal["single", "country"]]] = {"single": "single", "country": "country"}


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    app.command()(simulate)
    app.command("import-sales")(import_sales)


def _progress(done: object) -> None:
    output.errors.print(str(done))


def simulate(
    *,
    seed: Annotated[int, typer.Option(help="Same seed, same trading.")] = 1,
    rate: Annotated[float, typer.Option(help="Sale lines a second.")] = 5.0,
    minutes: Annotated[float, typer.Option(help="How long; 0 = until Ctrl-C.")] = 1.0,
    scenario: Annotated[str, typer.Option(help="Which trading day.")] = "everyday",
) -> None:
    """Trade: sales, receipts, returns, transfers and counts, through the services."""
    if rate <= 0:
        message = f"--rate {rate}: expected lines a second above 0"
        raise StackError(message)
    if minutes < 0:
        message = f"--minutes {minutes}: expected 0 or more"
        raise StackError(message)
    connect_django()
    from webui.trading import simulate as trading  # noqa: PLC0415 -- needs Django set up

    trading.run(seed=seed, rate=rate, minutes=minutes, scenario=scenario, progress=_progress)


def import_sales(
    file: Annotated[Path, typer.Argument(help="A file in the UCI Online Retail format.")],
    *,
    stores: Annotated[str, typer.Option(help="single or country.")] = "single",
    rate: Annotated[str, typer.Option(help="Lines a second, or max.")] = "max",
    limit: Annotated[int | None, typer.Option(help="Stop after so many lines.")] = None,
    json: Json = False,
) -> None:
    """Replay a file of sales through Postgres; bad rows are listed and do not stop the others."""
    if not file.is_file():
        message = f"FILE {str(file)!r}: expected a file in the UCI Online Retail format"
        raise StackError(message)
    if stores not in _STORES:
        message = f"--stores {stores!r}: expected single or country"
        raise StackError(message)
    per_second = _rate(rate)
    connect_django()
    from webui.trading.importer import import_sales as run  # noqa: PLC0415 -- needs Django set up

    report = run(file, stores=_STORES[stores], rate=per_second, limit=limit, progress=_progress)
    if json:
        output.as_json(report.as_json())
    else:
        output.console.print(str(report))


def _rate(text: str) -> float | None:
    if text == "max":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if rate <= 0:
        message = f"--rate {text!r}: expected lines a second above 0, or max"
        raise StackError(message)
    return rate
