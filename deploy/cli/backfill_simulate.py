"""`inventory backfill simulate`: options, terminal tables and JSON of a simulation."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output
from deploy.cli import backfill_options as options
from deploy.cli import option_checks
from deploy.cli.backfill_group import add_command
from deploy.cli.backfill_options import ENGINES, Engine, Json, Master
from deploy.errors import StackError
from deploy.stack.home import default_home
from deploy.time_left import TimeLeft
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from analytics.simulation.assumptions import Assumptions
    from analytics.simulation.report import Report
    from analytics.simulation.scenarios import Scenario

_YEAR: Final = 527_040  # minutes of 366 days

File = Annotated[
    Path | None,
    typer.Option("--scenarios", help="File with many scenarios: TOML or JSON lines."),
]
By = Annotated[
    list[str] | None,
    typer.Option(help="Also show results per store, supplier or class (sales speed); repeatable."),
]
Approval = Annotated[
    int,
    typer.Option(min=0, max=_YEAR, help="Minutes from a need to its order."),
]
Days = Annotated[
    str, typer.Option(help="Weekdays (UTC) on which orders are placed, such as mon,thu.")
]
LeadTimes = Annotated[
    str,
    typer.Option(
        help="`history`: drawn from the past lead times of the supplier, or from the policy if "
        "there are none. `policy`: the lead times of the policy."
    ),
]
Demand = Annotated[
    str,
    typer.Option(
        help="`estimated`: recorded sales, plus an estimate for times without stock. `recorded`: "
        "recorded sales only."
    ),
]
Parameters = Annotated[
    str,
    typer.Option(
        help="Parameters to which a scenario applies its changes. `log`: at each time, those that "
        "were in force then. `latest`: the newest ones, for the whole history."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the lead times that are drawn from history.")]
Buckets = Annotated[
    int | None,
    typer.Option(
        help="Number of parts into which each partition is split. Default: by its number of "
        "records."
    ),
]
Processes = Annotated[
    int | None, typer.Option(help="Processes of the local engine. Default: one for each core.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        help="Directory for the result. Default: simulations/simulation-… of INVENTORY_HOME.",
    ),
]


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(simulate)


def simulate(
    *,
    set_: options.Set = None,
    where: options.Where = None,
    scenarios: File = None,
    by: By = None,
    key: options.Keys = None,
    store: options.Stores = None,
    item: options.Items = None,
    supplier: options.Suppliers = None,
    archive: options.Archive = "",
    approval_minutes: Approval = 0,
    order_days: Days = "mon,tue,wed,thu,fri,sat,sun",
    lead_times: LeadTimes = "history",
    demand: Demand = "estimated",
    parameters: Parameters = "log",
    seed: Seed = 1,
    engine: Engine = "local",
    master: Master = None,
    buckets: Buckets = None,
    processes: Processes = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Simulate the archived history with other parameters: fill rate, stock, orders, margin.

    In the simulation, the rules decide again. The orders and receipts that follow from their
    decisions replace those of history. The command publishes nothing and needs no stack. It always
    adds a baseline: a scenario without changes. Each of --approval-minutes, --order-days,
    --lead-times, --demand and --parameters applies to all scenarios.
    """
    from analytics.engines.selection import Selection  # noqa: PLC0415 -- loads Parquet
    from analytics.simulation import engine as engines  # noqa: PLC0415 -- loads Parquet

    _refuse_wrong(engine, by or (), buckets, processes)
    request = engines.Request(
        home=default_home(),
        scenarios=_scenarios(set_ or (), where or (), scenarios),
        assumptions=_assumptions(
            approval_minutes, order_days, lead_times, demand, parameters, seed
        ),
        selection=Selection(*(tuple(one or ()) for one in (key, store, item, supplier))),
        engine=engine,
        master=master or engines.DEFAULT_MASTER,
        buckets=buckets,
        processes=processes,
        out=out,
        archive=options.use_archive(archive) or None,
    )
    _show(engines.simulate(request, _progress), tuple(dict.fromkeys(by or ())), json=json)


def _refuse_wrong(
    engine: str, by: Sequence[str], buckets: int | None, processes: int | None
) -> None:
    from analytics.simulation.groups import DIMENSIONS  # noqa: PLC0415 -- loads the rules

    option_checks.check_choice("--engine", engine, ENGINES)
    option_checks.check_int("--buckets", buckets)
    option_checks.check_int("--processes", processes)
    for dimension in by:
        option_checks.check_choice("--by", dimension, DIMENSIONS)


def _assumptions(
    minutes: int, order_days: str, lead_times: str, demand: str, parameters: str, seed: int
) -> "Assumptions":
    from analytics.simulation import assumptions as known  # noqa: PLC0415 -- loads the rules

    option_checks.check_choice("--lead-times", lead_times, known.LEAD_TIMES)
    option_checks.check_choice("--demand", demand, known.DEMANDS)
    option_checks.check_choice("--parameters", parameters, known.PARAMETERS)
    mask = 0
    for day in order_days.split(","):
        option_checks.check_choice("--order-days", day.strip(), known.WEEKDAYS)
        mask |= 1 << known.WEEKDAYS.index(day.strip())
    return known.Assumptions(minutes, mask, lead_times, demand, parameters, seed)


def _scenarios(
    changes: Sequence[str], conditions: Sequence[str], file: Path | None
) -> "tuple[Scenario, ...]":
    from analytics.simulation import scenarios as known  # noqa: PLC0415 -- loads the rules

    if conditions and not changes:
        message = f"--where {conditions[0]!r} requires --set; nothing was simulated"
        raise StackError(
            message, repair="inventory backfill simulate --set hysteresis_units=3 --where family=sS"
        )
    chosen: list[Scenario] = [*known.read_file(file)] if file is not None else []
    if changes:
        chosen.append(known.parse_options(changes, conditions))
    return known.with_baseline(chosen)


def _progress(done: int, planned: int, seconds: float) -> None:
    left = TimeLeft((0, 0.0)).text(done, planned, seconds)
    output.errors.print(f"{done} of {counted_text(planned, 'unit')} simulated{left}")


def _show(found: "Report", dimensions: Sequence[str], *, json: bool) -> None:
    if json:
        output.as_json(found.as_json() | {"directory": str(found.directory)})
    else:
        _print(found, dimensions)


def _print(found: "Report", dimensions: Sequence[str]) -> None:
    from analytics.simulation import wording  # noqa: PLC0415 -- loads the rules
    from analytics.simulation.scenarios import HISTORY  # noqa: PLC0415 -- as above

    output.table(wording.title(found), wording.COLUMNS, wording.table(found))
    for dimension in dimensions:
        for value in found.values(dimension):
            keys = found.outcome(HISTORY, dimension, value).keys
            output.table(
                f"\n{dimension} {value}, {counted_text(keys, 'item')}",
                wording.COLUMNS,
                wording.table(found, dimension, value),
            )
    output.console.print(f"\nassumptions: {wording.assumption_line(found)}")
    for note in wording.notes(found):
        output.console.print(note)
    output.console.print(f"digest {found.digest}")
    output.console.print(f"wrote {found.directory}")
