"""Verbs of the stack: up, down, status, logs, doctor, reset, fetch, demo."""

import os
import signal
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from deploy import output
from deploy.cli import given
from deploy.errors import StackError
from deploy.stack import control
from deploy.stack.context import DEFAULT_WORKERS, STEPS, Options
from deploy.stack.home import Home, default_home
from deploy.stack.ports import LAST_PORT
from deploy.stack.runtime import UP, Runtime, read_runtime

_FAILURE: Final = 2  # the doctor's exit code
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Add this module's verbs."""
    for verb in (up, down, restart, hold, status, logs, doctor, move, prune, reset, fetch, demo):
        app.command()(verb)


def _home() -> Home:
    return Home(default_home())


def _say(step: dict[str, Any]) -> None:
    output.console.print(f" ✔ {step['step']:<28} {step['seconds']:>6.1f} s")


def _options(workers: int, only: str, seed_data: str) -> Options:
    options = Options(
        workers=workers,
        only=tuple(name.strip() for name in only.split(",") if name.strip()),
        seed_data=seed_data,
        demo=seed_data == "demo" or os.environ.get("INVENTORY_DEMO") == "1",
        ports=_wanted_ports(),
    )
    options.check()
    return options


def _wanted_ports() -> dict[str, int]:
    wanted = os.environ.get("INVENTORY_WEB_PORT", "")
    if not wanted:
        return {}
    if not wanted.isdecimal() or int(wanted) > LAST_PORT:
        message = f"INVENTORY_WEB_PORT={wanted!r}: expected 1 to {LAST_PORT}, or 0 for any port"
        raise StackError(message)
    return {"web": int(wanted)}


def up(
    *,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return when ready.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Stream workers, 1 to 12; 2, or as many as run.")
    ] = None,
    seed_data: Annotated[str, typer.Option(help="demo or none: a retailer to look at.")] = "none",
    only: Annotated[str, typer.Option(help="Comma-separated services and steps.")] = "",
) -> None:
    """Start the whole stack; everything it writes lives in INVENTORY_HOME (.inventory)."""
    from deploy.stack import cds  # noqa: PLC0415 -- only this verb needs the JVM parts
    from streams.settings import WorkerSettings  # noqa: PLC0415 -- and what a worker is made of

    home = _home()
    options = _options(DEFAULT_WORKERS if workers is None else workers, only, seed_data)
    WorkerSettings()  # a value that no worker would take is told before anything starts
    current = read_runtime(home)
    was_running = current.running
    if was_running:
        _refuse_what_only_a_start_does(home, current, options)
    if options.wants("kafka") or options.wants("connect"):
        cds.ensure(output.console.print)
    if not detach:
        _stay_in_front(home, options)
    else:
        control.start_detached(home, options, _say)
        if was_running and workers is not None:
            from deploy.stack import fleet  # noqa: PLC0415 -- only for a stack that runs already

            fleet.scale(home, workers)
        _tell_addresses(home)
        _show_rules(home)


def _refuse_what_only_a_start_does(home: Home, current: Runtime, options: Options) -> None:
    """Say which wish a stack that runs already can't fulfil, instead of passing over it."""
    lacking = sorted({*options.only} - {*STEPS} - current.services.keys())
    lacking += ["the demo retailer"] if options.seed_data == "demo" and not home.has_demo() else []
    if lacking:
        again = f"inventory up --detach --seed-data {options.seed_data}"
        again += f" --only {','.join(options.only)}" if options.only else ""
        message = f"a stack runs already in {home.path}, without {', '.join(lacking)}"
        raise StackError(message, repair=f"inventory down && {again}")


def _stay_in_front(home: Home, options: Options) -> None:
    """Run the stack until it is stopped from elsewhere, or this command by Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        control.start_detached(home, options, _say)
        _tell_addresses(home)
        _show_rules(home)
        output.console.print("Ctrl-C stops it; `inventory up --detach` returns when it is ready.")
        control.wait_down(home)
    except KeyboardInterrupt:
        output.console.print("stopping")
        control.stop(home)


def demo() -> None:
    """Start the stack with the demo retailer, live trading, and a proof on the page."""
    from deploy.stack import proof  # noqa: PLC0415 -- loads Django

    up(detach=True, workers=2, seed_data="demo", only="")
    home = _home()
    output.console.print(f" ✔ {proof.prove(home)}")
    url = read_runtime(home).services["web"].url
    output.console.print(f"\n   Pages      {url}")
    for name, password in proof.logins(home).items():
        output.console.print(f"   login      {name} · {password}")
    output.console.print("   Try        .venv/bin/inventory status · doctor · verify · down")


def _tell_addresses(home: Home) -> None:
    runtime = read_runtime(home)
    rows = [
        (name, service.state, service.url)
        for name, service in runtime.services.items()
        if service.url
    ]
    output.table("", ("service", "state", "address"), rows)


def _show_rules(home: Home) -> None:
    """Print what to do if other rules decide than those of the workers here."""
    from deploy.doctor import checks, running  # noqa: PLC0415 -- asks Postgres

    if "actuator" not in read_runtime(home).services:
        return
    row = running.rules(home)
    if row.verdict != "ok":
        output.console.print(f"{row.mark} {row.found}", soft_wrap=True, markup=False)
        _show_repairs(checks.by_repair([row]))


def down() -> None:
    """Stop the stack; data stays for the next `up`."""
    home = _home()
    if control.stop(home):
        output.console.print(f"stopped; data stays in {home.path}")
    else:
        output.console.print(f"nothing was running in {home.path}")


def restart(name: Annotated[str, typer.Argument(help="One service, like kafka.")]) -> None:
    """Restart one service and return when it does its work again."""
    from deploy.stack import fleet  # noqa: PLC0415 -- loads what every part needs to run

    seconds = fleet.restart_service(_home(), name)
    output.console.print(f"{name} does its work again after {seconds:.1f} s")


def hold(
    name: Annotated[str, typer.Argument(help="One service, like worker-2.")],
    *,
    release: Annotated[bool, typer.Option("--release", help="Repair it again.")] = False,
) -> None:
    """Leave a suspended or silent service as it is, for a debugger; crashes are restarted."""
    from deploy.stack import fleet  # noqa: PLC0415 -- loads what every part needs to run

    fleet.hold(_home(), name, release=release)
    how = "repaired again" if release else "left as it is, also while it doesn't answer"
    output.console.print(f"{name} is {how}")


def move(
    directory: Annotated[Path, typer.Argument(help="A new directory, on another disk.")],
) -> None:
    """Move the stopped stack's home with all its data; its old name becomes a link."""
    from deploy.stack.move import move as move_home  # noqa: PLC0415 -- only this verb needs it

    home = _home()
    move_home(home, directory)
    output.console.print(f"{home.path} is now a link to {directory.absolute()}")


def prune(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really delete.")] = False,
) -> None:
    """Delete what was put aside below `former`, and rotated logs: nothing reads them."""
    from deploy.stack import prune as unread  # noqa: PLC0415 -- only this verb needs it

    home = _home()
    for path, size in unread.unread(home):
        output.console.print(f"  {size / (1 << 20):>9.1f} MB  {path}", soft_wrap=True, markup=False)
    if not yes:
        message = f"{unread.prunable(home) / (1 << 20):.1f} MB would be deleted; nothing was"
        raise StackError(message, repair=unread.PRUNE)
    output.console.print(f"deleted {unread.prune(home) / (1 << 20):.1f} MB")


def status(
    *,
    json: Json = False,
    location: Annotated[str | None, typer.Option(help="Counts of one location only.")] = None,
) -> None:
    """Each service, the connector, lag, freshness and what is not well. Exit 0 if all is well."""
    from deploy.doctor import checks  # noqa: PLC0415 -- asks every part
    from deploy.stack import observe  # noqa: PLC0415 -- as above
    from deploy.stack import status as report  # noqa: PLC0415 -- as above

    home = _home()
    seen = observe.look(home)
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(checks.of_stack, home, seen)
        found = report.collect(home, seen, location)
        rows = [row for row in asked.result() if row.verdict != "ok"]
    found["problems"] = [asdict(row) for row in rows]
    if json:
        output.as_json(found)
    else:
        report.show(found)
        for row in rows:
            line = f"{row.mark} {row.name}: {row.found}"
            output.console.print(line, soft_wrap=True, markup=False)
        _show_repairs(checks.by_repair(rows))
    is_well = not found["not_well"] and checks.exit_code(rows) < _FAILURE
    raise typer.Exit(0 if is_well else 1)


def _show_repairs(repairs: dict[str, list[str]]) -> None:
    """Print below the table, which would fold what is to be copied."""
    for repair, names in repairs.items():
        text = f"repair {', '.join(names)}: {repair}"
        output.console.print(text, soft_wrap=True, markup=False)


def logs(
    service: Annotated[str | None, typer.Argument(help="A service; all when left out.")] = None,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", help="Last lines of each.")] = 40,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing.")] = False,
) -> None:
    """Print the services' log files."""
    given.whole("--lines", lines, least=0)
    home = _home()
    known = {path.stem: path for path in sorted(home.logs.glob("*.log"))}
    if not known:
        message = f"no logs in {home.logs}: no stack was ever started there"
        raise StackError(message, repair=UP)
    if service is not None and service not in known:
        message = f"no log of {service!r} in {home.logs}: expected one of {', '.join(known)}"
        raise StackError(message)
    chosen = [known[service]] if service else list(known.values())
    if follow:
        names = [str(path) for path in chosen]
        raise typer.Exit(subprocess.call(["tail", "-n", str(lines), "-F", *names]))  # noqa: S603, S607 -- own files, any tail
    for path in chosen:
        if not service:
            output.console.print(f"==> {path} <==")
        with path.open(encoding="utf-8", errors="replace") as text:
            sys.stdout.writelines(deque(text, maxlen=lines))


def doctor(*, json: Json = False) -> None:
    """Check every part; each failing row has the command that repairs it. Exit 0, 1 or 2."""
    from deploy.doctor import checks  # noqa: PLC0415 -- asks every part

    rows = checks.run(_home())
    if json:
        output.as_json([asdict(row) for row in rows])
    else:
        output.table(
            f"doctor: {_home().path}",
            ("", "check", "found"),
            [(row.mark, row.name, row.found) for row in rows],
        )
        _show_repairs(checks.by_repair(rows))
    raise typer.Exit(checks.exit_code(rows))


def reset(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really delete.")] = False,
) -> None:
    """Stop the stack and delete everything below INVENTORY_HOME, and nothing else."""
    home = _home()
    for path in home.contents():
        output.console.print(f"  {path}")
    if not home.contents():
        output.console.print(f"nothing in {home.path}")
        return
    if not (home.path / "supervisor.lock").exists():
        message = f"{home.path} was not made by `inventory up`; it is left alone"
        raise StackError(message)
    if not yes:
        message = f"{home.path} and what is listed above would be deleted"
        raise StackError(message, repair="inventory reset --yes")
    control.stop(home)
    home.delete()
    output.console.print(f"deleted {home.path}")


def fetch() -> None:
    """Fetch and verify the JVM parts and archive their classes."""
    from deploy.stack import cds  # noqa: PLC0415 -- only this verb needs the JVM parts

    cds.ensure(output.console.print)
    output.console.print("the JVM parts are here and verified")
