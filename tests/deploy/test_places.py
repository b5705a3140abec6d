"""Postgres starts in every place that a clone or a home may have. Uses a real server in each.

`python -m tests.stack.places` starts the complete stack in these places.
"""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from deploy.doctor import machine
from deploy.errors import StackError
from deploy.stack.context import Context, Options
from deploy.stack.home import Home
from deploy.stack.ports import free_port
from deploy.stack.processes import end, identify, spawn, wait_until
from deploy.stack.services import postgres, postgres_programs

pytestmark = pytest.mark.engines
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as another account")
# The name of a Unix socket may have 107 bytes.
LONG = "/".join(["a-directory-with-a-long-name"] * 6)
# Letters and signs to which a program may give a special meaning.
ODD = "Läden und Kühlräume/库存/it's $HOME; %s/a=b:c"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Directory for copies of Postgres' programs that every account may enter."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        monkeypatch.setattr(postgres_programs, "_SHARED", (f"{scratch}/shared",))
        yield Path(scratch) / "shared"


@pytest.fixture
def closed_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Postgres' files, copied below a directory of mode 0700. Only their owner may read them."""
    wheel = postgres_programs.packaged().parents[2]
    site = tmp_path / "site"
    for part in (*postgres_programs._COPIED, postgres_programs._LIBRARIES):
        shutil.copytree(wheel / part, site / part, symlinks=True)
    for path in site.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
    tmp_path.chmod(0o700)
    programs = site / postgres_programs._PROGRAMS / "bin"
    monkeypatch.setattr(postgres_programs, "packaged", lambda: programs)
    return programs


def context_of(path: Path) -> Context:
    home = Home(path)
    home.create()
    ports: dict[str, int] = {}
    for name in ("postgres", "kafka", "kafka_controller", "connect", "web"):
        ports[name] = free_port(ports.values())
    return Context(home, Options(), ports, home.secrets())


@contextmanager
def serving(context: Context) -> Iterator[int]:
    """Start Postgres as the supervisor does. Yield its pid once it has stored a row."""
    postgres.prepare(context)
    service = postgres.service(context)
    log = context.home.log_of("postgres")
    process = spawn(
        service.command,
        environment=service.environment,
        directory=service.directory,
        log=log,
        death_signal=service.stop_signal,
        privileges=service.privileges,
    )
    try:
        wait_until(lambda: process.poll() is not None or service.ready(0), timeout_s=120)
        assert process.poll() is None, log.read_text()
        with psycopg.connect(context.database_url("postgres", "postgres")) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 7 AS units")
        yield process.pid
    finally:
        end([identify(process.pid)], service.stop_signal)
        process.wait()


def owner(pid: int) -> str:
    return pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name


@pytest.mark.parametrize("place", [ODD, LONG])
def test_postgres_starts_in_a_home_below_a_closed_directory(tmp_path, place) -> None:
    tmp_path.chmod(0o700)
    context = context_of(tmp_path / place)

    with serving(context) as pid:
        assert owner(pid) != "root"
        assert Path(f"/proc/{pid}/cwd").resolve() == context.home.postgres
    with serving(context):
        pass

    assert (context.home.postgres / "PG_VERSION").exists()
    assert not (context.home.path / ".initdb-password").exists()


@AS_ROOT
def test_homes_of_a_private_clone_share_one_copy_of_the_postgres_programs(
    tmp_path, shared, closed_programs
) -> None:
    before = os.umask(0o077)
    try:
        with ExitStack() as both:
            pids = [both.enter_context(serving(context_of(tmp_path / name))) for name in ("a", "b")]
            copies = {Path(f"/proc/{pid}/exe").resolve().parents[3] for pid in pids}
            owners = {owner(pid) for pid in pids}
    finally:
        os.umask(before)

    assert owners <= {"postgres", "nobody"}
    assert [copy.parent for copy in copies] == [shared]
    assert [path.name for path in shared.iterdir()] == [next(iter(copies)).name]
    row = machine.postgres_binaries(Home(tmp_path))
    assert (row.verdict, row.found) == ("ok", str(postgres_programs.find()))


@AS_ROOT
def test_an_incomplete_copy_of_the_postgres_programs_is_replaced(shared, closed_programs) -> None:
    copy = postgres_programs.ensure()
    (copy / "postgres").unlink()

    assert postgres_programs.find() is None
    assert postgres_programs.ensure() == copy
    assert postgres_programs.problem(copy) == ""


@AS_ROOT
def test_start_and_doctor_report_that_postgres_cannot_reach_its_programs(
    tmp_path, shared, closed_programs
) -> None:
    shared.mkdir()
    os.chown(shared, 12345, -1)

    with pytest.raises(StackError) as refused:
        postgres.prepare(context_of(tmp_path / "home"))
    row = machine.postgres_binaries(Home(tmp_path / "home"))

    assert f"{shared} belongs to another account" in str(refused.value)
    assert str(closed_programs) in str(refused.value)
    assert "Permission denied" in str(refused.value)
    assert (row.verdict, row.found) == ("failure", str(refused.value))
    assert row.repair == refused.value.repair
    assert row.repair.startswith("git clone ")
    assert list(shared.iterdir()) == []


def test_programs_that_cannot_be_run_are_a_failing_row(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_POSTGRES_BIN", str(tmp_path))

    row = machine.postgres_binaries(Home(tmp_path))

    assert row.verdict == "failure"
    assert row.repair == "unset INVENTORY_POSTGRES_BIN && inventory up --detach"


def test_postgres_starts_after_an_interrupted_initdb(tmp_path) -> None:
    context = context_of(tmp_path / "home")
    for half in (context.home.postgres, context.home.path / ".postgres-new"):
        (half / "base").mkdir(parents=True)

    with serving(context):
        assert {path.name for path in context.home.path.iterdir()} >= {"postgres"}
    assert not (context.home.path / ".postgres-new").exists()


@pytest.mark.parametrize("variables", [{"LC_ALL": "C", "LANG": "C"}, {"HOME": "/proc"}, {}])
def test_postgres_starts_with_any_home_and_locale_variables(
    tmp_path, monkeypatch, variables
) -> None:
    for name in ("HOME", "LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with serving(context_of(tmp_path / "Kühlraum 1")):
        pass


@AS_ROOT
def test_where_root_is_the_only_account_the_start_names_a_command_that_works(tmp_path) -> None:
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], check=False).returncode:  # noqa: S603 -- fixed arguments
        pytest.skip("this kernel makes no user namespaces")
    inventory = str(Path(sys.executable).with_name("inventory"))
    mine = {key: value for key, value in os.environ.items() if not key.startswith("INVENTORY_")}
    mine |= {"INVENTORY_HOME": str(tmp_path / "home"), "PATH": f"{Path(inventory).parent}:/usr/bin"}

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=mine, capture_output=True, text=True, check=False)  # noqa: S603 -- our own command

    refused = run([*alone, inventory, "up", "--detach", "--only", "postgres"])
    repair = refused.stderr.rsplit("repair: ", 1)[-1].split()
    started = run([*alone, *repair, "--only", "postgres"])
    stopped = run([inventory, "down"])

    assert refused.returncode == 1
    assert "can't become the account" in refused.stderr
    assert started.returncode == 0, started.stderr
    assert (tmp_path / "home/postgres/PG_VERSION").exists()
    assert stopped.stdout.startswith("stopped")
