"""Subcommands of the stack: up, down, status, logs, doctor, reset, fetch, demo."""

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
from deploy.cli import option_checks
from deploy.errors import StackError
from deploy.parts import BOTH_COMPILERS, FIRST_COMPILER
from deploy.stack import daemon
from deploy.stack.context import DEFAULT_WORKERS, STEPS, Options
from deploy.stack.home import MOVED_TO, Home, default_home
from deploy.stack.ports import LAST_PORT
from deploy.stack.runtime import UP, Runtime, read_runtime

_FAILURE: Final = 2  # the doctor's exit code
_WORKERS: Final = (
    "Number of stream workers, 1 to 12. A running stack changes to this number. Default: 2, or the "
    "present number of a running stack."
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    for verb in (up, down, restart, hold, status, logs, doctor, move, prune, reset, fetch, demo):
        app.command()(verb)


def _home() -> Home:
    return Home(default_home())


def _print_step(step: dict[str, Any]) -> None:
    output.console.print(f" ✔ {step['step']:<28} {step['seconds']:>6.1f} s")


def start_options(home: Home, workers: int, only: str, seed_data: str | None) -> Options:
    """Return the checked options of `up`.

    If `seed_data` is None and the home has demo data, the stack starts as a demo, with demo data
    and live trading. With `only` it gets neither, because trading needs services that `only` may
    leave out. The JVMs of a demo use only the first of their two compilers, because a demo is
    short. The variable INVENTORY_JVM_COMPILERS takes precedence.
    """
    is_demo = seed_data == "demo" or (seed_data is None and home.has_demo())
    compilers = FIRST_COMPILER if is_demo else BOTH_COMPILERS
    options = Options(
        workers=workers,
        only=tuple(name.strip() for name in only.split(",") if name.strip()),
        seed_data=seed_data or ("demo" if is_demo and not only else "none"),
        demo=is_demo or os.environ.get("INVENTORY_DEMO") == "1",
        ports=_wanted_ports(),
        jvm_compilers=os.environ.get("INVENTORY_JVM_COMPILERS") or compilers,
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
    detach: Annotated[
        bool,
        typer.Option(
            "--detach",
            "-d",
            help="Run the stack in the background, and return when all services are ready.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(help=_WORKERS),
    ] = None,
    seed_data: Annotated[
        str | None,
        typer.Option(
            help="demo: a sample retailer with history, and live trading. none: an empty stack."
            " Default: demo if INVENTORY_HOME has the sample retailer already, else none."
        ),
    ] = None,
    only: Annotated[
        str, typer.Option(help="Start only these services and steps, separated by commas.")
    ] = "",
) -> None:
    """Start the stack. It writes only below INVENTORY_HOME, by default .inventory."""
    from deploy.stack import class_data  # noqa: PLC0415 -- only this verb needs the JVM parts
    from streams.settings import WorkerSettings  # noqa: PLC0415 -- only this verb needs it

    home = _home()
    options = start_options(home, DEFAULT_WORKERS if workers is None else workers, only, seed_data)
    WorkerSettings()  # raises an error for values that no worker accepts
    current = read_runtime(home)
    was_running = current.running
    if was_running:
        _refuse_start_options(home, current, options)
    if options.wants("kafka") or options.wants("connect"):
        class_data.ensure(output.console.print)
    asked = workers if was_running else None
    if not detach:
        _run_in_foreground(home, options, asked)
    else:
        _start(home, options, asked)


def _refuse_start_options(home: Home, current: Runtime, options: Options) -> None:
    """Raise `StackError` if `options` request a service or demo data that a running stack lacks."""
    lacking = sorted({*options.only} - {*STEPS} - current.services.keys())
    lacking += ["the demo retailer"] if options.seed_data == "demo" and not home.has_demo() else []
    if lacking:
        again = f"inventory up --detach --seed-data {options.seed_data}"
        again += f" --only {','.join(options.only)}" if options.only else ""
        message = (
            f"a stack runs already in {home.path}, without {', '.join(lacking)}; "
            "nothing was changed"
        )
        raise StackError(message, repair=f"inventory down && {again}")


def _start(home: Home, options: Options, workers: int | None) -> None:
    """Start the stack, or give a running one `workers` workers. Then print its addresses."""
    daemon.start_detached(home, options, _print_step)
    if workers is not None:
        from deploy.stack import service_commands  # noqa: PLC0415 -- only for a stack that runs already

        service_commands.scale(home, workers)
    _print_addresses(home)
    _show_rules(home)


def _run_in_foreground(home: Home, options: Options, workers: int | None) -> None:
    """Run the stack until another command, Ctrl-C or SIGTERM stops it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _start(home, options, workers)
        output.console.print(
            "Ctrl-C stops the stack. `inventory up --detach` starts it in the background."
        )
        daemon.wait_down(home)
    except KeyboardInterrupt:
        output.console.print("stopping")
        daemon.stop(home)


def demo() -> None:
    """Start the stack with a sample retailer and live trading. Check that a sale reaches a page."""
    from deploy.stack import proof  # noqa: PLC0415 -- loads Django

    proof.refuse_https()
    up(detach=True, workers=2, seed_data="demo", only="")
    home = _home()
    output.console.print(f" ✔ {proof.prove(home)}")
    output.console.print(f"\n   Pages      {proof.page_url(home)}")
    for name, password in proof.logins(home).items():
        output.console.print(f"   login      {name} · {password}")
    output.console.print("   Try        .venv/bin/inventory status · doctor · verify · down")


def _print_addresses(home: Home) -> None:
    runtime = read_runtime(home)
    rows = [
        (name, service.state, service.url)
        for name, service in runtime.services.items()
        if service.url
    ]
    output.table("", ("service", "state", "address"), rows)


def _show_rules(home: Home) -> None:
    """Print the next step if the deciding logic revision is not the one of this stack's workers."""
    from deploy.doctor import checks, running  # noqa: PLC0415 -- asks Postgres

    if "actuator" not in read_runtime(home).services:
        return
    row = running.rules(home)
    if row.verdict != "ok":
        output.console.print(f"{row.mark} {row.found}")
        _show_repairs(checks.by_repair([row]))


def down() -> None:
    """Stop the stack, and keep its data for the next `up`."""
    home = _home()
    if daemon.stop(home):
        output.console.print(f"stopped; data stays in {home.path}")
    else:
        output.console.print(f"nothing was running in {home.path}")


def restart(name: Annotated[str, typer.Argument(help="Name of a service, like kafka.")]) -> None:
    """Restart one service, and return when its readiness probe succeeds."""
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    seconds = service_commands.restart_service(_home(), name)
    output.console.print(f"{name} is ready again after {seconds:.1f} s")


def hold(
    name: Annotated[str, typer.Argument(help="Name of a service, like worker-2.")],
    *,
    release: Annotated[
        bool, typer.Option("--release", help="Let the supervisor repair the service again.")
    ] = False,
) -> None:
    """Exempt a service from the supervisor's repairs, for example while a debugger stops it.

    A stopped service doesn't answer, so the supervisor would restart it. After a crash, the
    supervisor still restarts the service.
    """
    from deploy.stack import service_commands  # noqa: PLC0415 -- loads what every part needs to run

    service_commands.hold(_home(), name, release=release)
    how = "again repairs" if release else "no longer repairs"
    output.console.print(f"the supervisor {how} {name} when {name} doesn't answer")


def move(
    directory: Annotated[Path, typer.Argument(help="New directory, for example on another disk.")],
) -> None:
    """Move a stopped stack to another directory. The old one becomes a link to it.

    A mount point, or a directory whose parent directory you may not change, can't become a link.
    For such a directory, the command copies the files and keeps the old ones. Later commands find
    the new directory by a link `moved-to` in the old one.
    """
    from deploy.stack.move import move as move_home  # noqa: PLC0415 -- only this verb needs it

    home = _home()
    target = directory.absolute()
    if move_home(home, directory):
        output.console.print(f"{home.path} is now a link to {target}")
    else:
        output.console.print(
            f"copied to {target}; commands use the copy from now on. A link can't replace "
            f"{home.path}, which keeps the old files. Its link {MOVED_TO!r} leads to the copy"
        )


def prune(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the deletion.")] = False,
) -> None:
    """Delete files that no process reads: rotated logs, and data that was moved to `former`."""
    from deploy.stack import prune as unread  # noqa: PLC0415 -- only this verb needs it

    home = _home()
    for path, size in unread.unread(home):
        output.console.print(f"  {size / (1 << 20):>9.1f} MB  {path}")
    if not yes:
        message = (
            f"{unread.prunable(home) / (1 << 20):.1f} MB would be deleted; nothing was deleted"
        )
        raise StackError(message, repair=unread.PRUNE)
    output.console.print(f"deleted {unread.prune(home) / (1 << 20):.1f} MB")


def status(
    *,
    json: Json = False,
    location: Annotated[
        str | None, typer.Option(help="Count rejected records and late sales of one location only.")
    ] = None,
) -> None:
    """Show services, connector, lag, freshness and problems. Exit 0 if all is well."""
    from deploy.doctor import checks  # noqa: PLC0415 -- asks every part
    from deploy.stack import observe  # noqa: PLC0415 -- as above
    from deploy.stack import status as report  # noqa: PLC0415 -- as above
    from deploy.stack.status_output import show_status  # noqa: PLC0415 -- as above

    home = _home()
    seen = observe.observe(home)
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(checks.stack_rows, home, seen)
        found = report.collect(home, seen, location)
        rows = [row for row in asked.result() if row.verdict != "ok"]
    found["problems"] = [asdict(row) for row in rows]
    if json:
        output.as_json(found)
    else:
        show_status(found)
        for row in rows:
            line = f"{row.mark} {row.name}: {row.found}"
            output.console.print(line)
        _show_repairs(checks.by_repair(rows))
    is_well = not found["not_well"] and checks.exit_code(rows) < _FAILURE
    raise typer.Exit(0 if is_well else 1)


def _show_repairs(repairs: dict[str, list[str]]) -> None:
    """Print each repair below the table, because a cell of the table would break long commands."""
    for repair, names in repairs.items():
        text = f"repair {', '.join(names)}: {repair}"
        output.console.print(text)


def logs(
    service: Annotated[str | None, typer.Argument(help="Name of a service. Default: all.")] = None,
    *,
    lines: Annotated[
        int,
        typer.Option("--lines", "-n", help="Number of lines to print from the end of each file."),
    ] = 40,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new lines until Ctrl-C.")
    ] = False,
) -> None:
    """Print the services' log files."""
    option_checks.check_int("--lines", lines, least=0)
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
    """Check the machine and every service, and print a repair command for each problem.

    Exit 0 if all is well, 1 with warnings, 2 with failures.
    """
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
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the deletion.")] = False,
) -> None:
    """Stop the stack and delete all files below INVENTORY_HOME."""
    home = _home()
    for path in home.contents():
        output.console.print(f"  {path}")
    if not home.contents():
        output.console.print(f"no files in {home.path}; nothing was deleted")
        return
    if not (home.path / "supervisor.lock").exists():
        message = f"{home.path} was not created by `inventory up`; nothing was deleted"
        raise StackError(message)
    if not yes:
        message = f"{home.path} and what is listed above would be deleted; nothing was deleted"
        raise StackError(message, repair="inventory reset --yes")
    daemon.stop(home)
    home.delete()
    output.console.print(f"deleted {home.path}")


def fetch() -> None:
    """Download Kafka, Connect and Debezium, and verify their checksums.

    The command also starts broker and Connect once, so that their JVMs write class-data archives
    (AppCDS). With these archives, each JVM starts in half the time.
    """
    from deploy.stack import class_data  # noqa: PLC0415 -- only this verb needs the JVM parts

    class_data.ensure(output.console.print)
    output.console.print("Kafka, Connect and Debezium are downloaded, and their checksums match")
