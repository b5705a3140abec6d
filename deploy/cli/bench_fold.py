"""`inventory bench fold`: all rules on one core, interpreted or as machine code."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from deploy import compiled_rules, output
from deploy.cli import given
from deploy.stack.home import default_home

_STORES: Final[dict[str, Literal["single", "country"]]] = {"single": "single", "country": "country"}


def bench_fold(
    file: Annotated[
        Path | None, typer.Argument(help="A file in the UCI Online Retail format.")
    ] = None,
    *,
    stores: Annotated[str, typer.Option(help="Of the file: single or country.")] = "single",
    limit: Annotated[int | None, typer.Option(help="Of the file: only so many lines.")] = None,
    keys: Annotated[str, typer.Option(help="Sizes of a made retailer.")] = "10000,100000",
    rounds: Annotated[int, typer.Option(help="Records a key, after its opening.")] = 4,
    seed: Annotated[int, typer.Option(help="Same seed, same log.")] = 1,
    small_pages: Annotated[
        bool, typer.Option("--small-pages", help="Leave memory on the kernel's ordinary pages.")
    ] = False,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="With machine code, made first if it is not there.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure all rules on one core, from bytes to bytes; needs no stack."""
    if file is not None:
        given.retail_file(file)
    given.one_of("--stores", stores, tuple(_STORES))
    given.whole("--limit", limit)
    given.whole("--rounds", rounds)
    sizes = given.whole_numbers("--keys", keys, "10000,100000")
    if compiled:
        options = {"--stores": stores, "--keys": keys, "--rounds": rounds, "--seed": seed}
        chosen = {"--limit": limit, "--small-pages": small_pages, "--json": json}
        _again(file, {**options, **chosen})
    from bench.fold import Retailers, SalesFile, run  # noqa: PLC0415 -- loads the trading code

    report = run(
        file=None if file is None else SalesFile(file, _STORES[stores], limit),
        retailers=Retailers(sizes, rounds, seed),
        huge_pages=not small_pages,
        tell=output.errors.print,
    )
    if json:
        output.as_json(report.as_json())
    else:
        output.plain(report.as_text())


def _again(file: Path | None, options: Mapping[str, object]) -> None:
    """Run the same command in a process with the compiled rules, and exit with its code."""
    home = default_home()
    output.errors.print(f"compiled rules: {compiled_rules.ensure(home)}", soft_wrap=True)
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
