"""`inventory bench fold`: measure the speed of all rules on one core."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from deploy import output
from deploy.cli import option_checks

_STORES: Final[dict[str, Literal["single", "country"]]] = {"single": "single", "country": "country"}


def bench_fold(
    file: Annotated[
        Path | None, typer.Argument(help="Sales file in the UCI Online Retail format. Optional.")
    ] = None,
    *,
    stores: Annotated[
        str, typer.Option(help="single: one location. country: one location per country.")
    ] = "single",
    limit: Annotated[
        int | None, typer.Option(help="Largest number of lines to read from the file.")
    ] = None,
    keys: Annotated[
        str,
        typer.Option(help="Numbers of keys, separated by commas; one generated retailer for each."),
    ] = "10000,100000",
    rounds: Annotated[int, typer.Option(help="Records per key after its opening count.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the random log.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure records per second of one core: decode, dedupe, fold, encode. Needs no stack."""
    if file is not None:
        option_checks.check_retail_file(file)
    option_checks.check_choice("--stores", stores, tuple(_STORES))
    option_checks.check_int("--limit", limit)
    option_checks.check_int("--rounds", rounds)
    sizes = option_checks.parse_ints("--keys", keys, "10000,100000")
    from bench.fold import Retailers, SalesFile, run  # noqa: PLC0415 -- loads the trading code

    report = run(
        file=None if file is None else SalesFile(file, _STORES[stores], limit),
        retailers=Retailers(sizes, rounds, seed),
        progress=output.errors.print,
    )
    output.report(report, in_json=json)
