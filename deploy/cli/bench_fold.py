"""`inventory bench fold`: all rules on one core, interpreted or as machine code."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from deploy import compiled_rules, output
from deploy.cli import option_checks
from deploy.stack.home import default_home

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
        str, typer.Option(help="Numbers of keys of the generated retailers.")
    ] = "10000,100000",
    rounds: Annotated[int, typer.Option(help="Records per key after its opening count.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the random log.")] = 1,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Use compiled rules. Compile them first if needed.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure records per second of one core: decode, dedupe, fold, encode. Needs no stack."""
    if file is not None:
        option_checks.check_retail_file(file)
    option_checks.check_choice("--stores", stores, tuple(_STORES))
    option_checks.check_int("--limit", limit)
    option_checks.check_int("--rounds", rounds)
    sizes = option_checks.parse_ints("--keys", keys, "10000,100000")
    if compiled:
        options = {"--stores": stores, "--keys": keys, "--rounds": rounds, "--seed": seed}
        chosen = {"--limit": limit, "--json": json}
        _run_compiled(file, {**options, **chosen})
    from bench.fold import Retailers, SalesFile, run  # noqa: PLC0415 -- loads the trading code

    report = run(
        file=None if file is None else SalesFile(file, _STORES[stores], limit),
        retailers=Retailers(sizes, rounds, seed),
        progress=output.errors.print,
    )
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())


def _run_compiled(file: Path | None, options: Mapping[str, object]) -> None:
    """Run the same command in a process with the compiled rules. End with its exit code."""
    home = default_home()
    output.errors.print(f"compiled rules: {compiled_rules.ensure(home)}")
    command = [sys.executable, "-m", "deploy.cli.main", "bench", "fold"]
    command += [] if file is None else [str(file)]
    for name, value in options.items():
        if value is True:
            command.append(name)
        elif value is not None and value is not False:
            command += [name, str(value)]
    variables = os.environ | compiled_rules.environment(home)
    done = subprocess.run(command, env=variables, check=False)  # noqa: S603 -- this command
    raise typer.Exit(done.returncode)
