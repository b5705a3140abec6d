"""`inventory backfill plan`: the size, effect and cost of a logic change before it runs."""

import shlex
from typing import TYPE_CHECKING, Final

import typer

from deploy import output
from deploy.cli import backfill_options as options
from deploy.cli.backfill_group import add_command
from inventory.explain.formatting import counted_text

if TYPE_CHECKING:
    from analytics.backfill.change.planned import Planned


_NO_LINE: Final = "these rules have no line in CHANGES of inventory/revision.py"


def register(_app: typer.Typer) -> None:
    """Add the command to `inventory backfill`."""
    add_command(plan)


def plan(
    *,
    engine: options.Engine = "local",
    until: options.Until = None,
    buckets: options.Buckets = None,
    code: options.Code = None,
    ref: options.Ref = "",
    changes: options.Set = None,
    where: options.Where = None,
    revision: options.Revision = None,
    key: options.Keys = None,
    store: options.Stores = None,
    item: options.Items = None,
    supplier: options.Suppliers = None,
    archive: options.Archive = "",
    what_if: options.WhatIf = False,
    json: options.Json = False,
) -> None:
    """Show the size and the expected duration of a run, and whether it could be published.

    The command computes no state. A run uses the rules of this code, of --code or of --ref. --set
    changes parameters of these rules.

    Exit code 2: the run could not be published.
    """
    request = options.request_of(engine, until, buckets, (key, store, item, supplier), archive)
    origin = options.origin_of(code, ref, changes, where, revision)
    settings = options.settings_for(until, request.archive)
    from analytics.backfill.change.planned import planned, refuse_unpublishable  # noqa: PLC0415 -- loads the file format
    from analytics.backfill.run import runs_dir  # noqa: PLC0415 -- as above

    change = options.change_of(origin)
    manifest, made = options.plan_of(settings, request, change)
    found = planned(manifest, made, change, runs_dir(settings))
    command = _command(found, request)
    if json:
        output.as_json(found.as_json() | {"command": command})
    else:
        _print(found, command)
    if not what_if:
        refuse_unpublishable(manifest, made, change)


def _command(found: "Planned", request: options.Request) -> str:
    """Return the shell command that executes the plan."""
    tree = [] if found.change.is_own else ["--code", str(found.change.tree)]
    is_refused = found.problems and not found.change.is_own
    flags = [*request.flags(), *tree, *(["--what-if"] if is_refused else [])]
    return shlex.join(["inventory", "backfill", "run", *flags])


def _print(found: "Planned", command: str) -> None:
    made, change = found.plan, found.change
    rows: list[tuple[str, object]] = [
        ("run", made.run),
        ("logic revision", f"{made.logic_revision}: {change.text or _NO_LINE}"),
        ("rules", f"{change.tree}, code {made.code}"),
        ("keys", made.selection.text()),
        ("records", f"{found.records:,} in {found.bytes / 1e6:,.1f} MB of archive"),
        ("units", f"{len(made.units)}, {found.units_finished} finished"),
        ("records to compute", f"{found.records_new:,}"),
        ("expected duration", _duration(found)),
    ]
    if found.effect is not None:
        effect = found.effect
        keys = counted_text(effect.keys_changed, "key")
        text = f"{effect.rows_changed:,} of {effect.rows:,}, for {keys}"
        rows.append(("policy rows that change", text))
    rows.append(("can be published", "no" if found.problems else "yes"))
    rows += [("", problem) for problem in found.problems]
    rows.append(("next", command))
    output.table("backfill plan", ("what", "value"), rows)


def _duration(found: "Planned") -> str:
    if found.rate is None:
        return "unknown: no finished run of this engine measured a rate"
    rate = f"{found.rate.records_per_s:,} records/s measured by {found.rate.run}"
    return f"{found.seconds:,} s at {rate}"
