"""History from an archive at a path or URL: equal results, and equal refusals of damage."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analytics.archive.entries import BrokenArchive
from analytics.archive.manifest import open_manifest
from analytics.archive.names import HEAD, MANIFEST, SOURCE
from analytics.archive.storage import NoArchive, storage_of
from analytics.backfill.ends import NoBroker
from analytics.backfill.run import RunReport, run, runs_dir
from analytics.damage import Damage
from analytics.engines import local
from analytics.explain_history import history_of
from analytics.history.opened import Request, open_history
from analytics.simulation import engine as simulation
from analytics.simulation.engine import units_for
from analytics.simulation.scenarios import with_baseline
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from deploy.cli import main as commands
from deploy.cli.main import app
from deploy.stack.home import PROJECT
from tests.analytics.histories import PARTITIONS
from tests.analytics.history_homes import rows
from tests.analytics.s3_server import BUCKET, Server, running_server
from tests.analytics.two_runs import Home, _run_here, a_history, a_home, higher_reorder_point

pytestmark = pytest.mark.engines  # starts an S3 server, and waits for one that doesn't answer

PREFIX = "archive"


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("url") / "home", a_history(steps=150))


@pytest.fixture(name="server", scope="module")
def a_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(name="url", scope="module")
def a_url(server: Server, home: Home) -> str:
    return server.copy(home.settings.archive_dir, PREFIX)


@pytest.fixture(autouse=True)
def access(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process the server's address and key, and fold units in this process."""
    for name, text in server.variables.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(local, "run_units", _run_here)


def settings(home: Path, archive: str) -> Connections:
    return Connections(home=home, partitions=PARTITIONS, archive=archive)


def computed(home: Path, archive: str) -> RunReport:
    return run(settings=settings(home, archive))


def test_path_file_url_and_bucket_give_equal_runs(home: Home, url: str, tmp_path: Path) -> None:
    path = home.settings.archive_dir
    hadoop = url.replace("s3://", "s3a://")

    found = [
        computed(tmp_path / str(number), archive)
        for number, archive in enumerate((str(path), path.as_uri(), url, hadoop))
    ]

    assert {report.units_computed for report in found} == {len(found[0].plan.units)}
    assert len({report.digest for report in found}) == 1
    assert len({report.plan.run for report in found}) == 1
    assert found[0].as_json()["records"] == sum(f.rows for f in home.manifest.all_files())


def test_a_finished_run_is_reused_after_its_archive_moves_to_a_bucket(
    home: Home, url: str, tmp_path: Path
) -> None:
    first = computed(tmp_path, str(home.settings.archive_dir))

    second = computed(tmp_path, url)

    assert second.units_computed == 0
    assert second.digest == first.digest


def test_tables_of_a_bucket_have_the_rows_of_the_directory(
    home: Home, url: str, tmp_path: Path
) -> None:
    log, copy = (
        open_history(settings(tmp_path / name, archive), Request(run=None))
        for name, archive in (("a", str(home.settings.archive_dir)), ("b", url))
    )

    assert rows(copy, "log") == rows(log, "log") != []
    assert rows(copy, "movements") == rows(log, "movements") != []


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def altered(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def absent(_content: bytes) -> None:
    return None


@pytest.mark.parametrize("spoil", [cut, altered, absent])
@pytest.mark.parametrize("kind", ["file", MANIFEST, HEAD, SOURCE])
def test_a_damaged_archive_at_a_url_gives_the_same_error_as_in_a_directory(
    home: Home,
    server: Server,
    tmp_path: Path,
    spoil: Callable[[bytes], bytes | None],
    kind: str,
) -> None:
    name = home.manifest.files(0)[0].file if kind == "file" else kind
    place = f"{spoil.__name__}-{kind}"
    url = server.copy(home.settings.archive_dir, place)
    copy = shutil.copytree(home.settings.archive_dir, tmp_path / "copy")
    content = spoil((copy / name).read_bytes())
    if content is None:
        (copy / name).unlink()
        server.delete(place, name)
    else:
        (copy / name).write_bytes(content)
        server.put(place, name, content)

    def refusal(archive: str) -> tuple[str, str, str] | None:
        try:
            computed(tmp_path / "runs", archive)
        except Damage as error:
            short = error.problem.replace(storage_of(archive).at("x")[:-1], "AT ")
            return short, error.kept, error.step
        return None

    of_directory = refusal(str(copy))

    assert refusal(url) == of_directory
    # A run doesn't need the file `SOURCE` and knows no checksum of it. It refuses a truncated one.
    assert (of_directory is None) == (kind == SOURCE and spoil is not cut)


def test_a_half_copied_archive_is_refused(home: Home, server: Server, tmp_path: Path) -> None:
    source = home.settings.archive_dir
    headless = server.copy(source, "headless", without=HEAD)
    incomplete = server.copy(source, "incomplete", without=home.manifest.files(2)[-1].file)

    with pytest.raises(BrokenArchive, match=f"{HEAD}: missing, so the end of {MANIFEST} is") as one:
        computed(tmp_path, headless)
    with pytest.raises(BrokenArchive, match="No such file") as other:
        computed(tmp_path, incomplete)

    assert "copy the archive again" in one.value.step
    assert "copy the archive again" in other.value.step
    assert not runs_dir(settings(tmp_path, "")).exists()


def refuse(_patch: pytest.MonkeyPatch) -> None:
    """Set the server's address to a port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        _patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")


def with_another_secret(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("AWS_SECRET_ACCESS_KEY", "not/the/secret/of/this/user")


def with_an_unknown_key(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")


def without_scheme(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:9000")


@pytest.mark.parametrize(
    "spoil", [refuse, with_another_secret, with_an_unknown_key, without_scheme]
)
def test_a_refusing_or_unreachable_s3_server_gives_one_message_without_secrets(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pytest.MonkeyPatch], None],
) -> None:
    spoil(monkeypatch)

    printed = refused_command(tmp_path, url, capsys, monkeypatch)

    assert printed.startswith(f"error: {url}/{HEAD}: ")
    assert "nothing was computed or published; check bucket, path, AWS_ENDPOINT_URL" in printed
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in printed
    assert os.environ["AWS_ACCESS_KEY_ID"] not in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize(
    "place", ["s3://no-such-bucket/archive", f"s3://{BUCKET}/empty", "nowhere"]
)
def test_the_error_names_a_path_or_url_without_an_archive(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    printed = refused_command(tmp_path, place, capsys, monkeypatch)

    assert re.match(
        rf"error: .*{place}: not an archive: the directory or its _head.json is missing", printed
    )


@pytest.mark.parametrize("hidden", ["KEY:SECRET@", "SECRET@"])
def test_a_url_with_credentials_is_refused_and_not_repeated(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    hidden: str,
) -> None:
    archive = f"s3://{hidden}history/archive"
    for verb in ("plan", "status"):
        printed = refused_command(tmp_path, archive, capsys, monkeypatch, verb)

        assert "has a user name, a password or options" in printed
        assert "SECRET" not in printed


@pytest.mark.parametrize("hidden", ["KEY:HIDDEN@", "HIDDEN@", ":HIDDEN@"])
def test_an_endpoint_with_credentials_is_refused_and_not_repeated(
    url: str,
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    hidden: str,
) -> None:
    endpoint = server.variables["AWS_ENDPOINT_URL"].replace("://", f"://{hidden}")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    printed = refused_command(tmp_path, url, capsys, monkeypatch)

    assert "AWS_ENDPOINT_URL has a user name or password" in printed
    assert "HIDDEN" not in printed


def test_an_unknown_kind_of_url_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "unheard://x/y" in refused_command(tmp_path, "unheard://x/y", capsys, monkeypatch)


def refused_command(
    home: Path,
    archive: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str = "plan",
) -> str:
    """Return what the command prints before it ends with exit code 1."""
    monkeypatch.setenv("INVENTORY_HOME", str(home / "home"))
    monkeypatch.setenv("INVENTORY_ARCHIVE", "")
    command = ["inventory", "backfill", verb, "--archive", archive]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_each_command_about_history_reads_the_url(
    home: Home, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setenv("INVENTORY_ARCHIVE", "")

    def answer(*command: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, [*command, "--archive", url, "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    records = sum(file.rows for file in home.manifest.all_files())
    planned = answer("backfill", "plan", "--what-if")
    finished = answer("backfill", "run")
    assert f"--archive {url}" in planned["command"]
    assert planned["records"] == finished["records"] == records
    assert finished["run"] == planned["run"]
    archive = answer("backfill", "status")["archive"]
    assert (archive["directory"], archive["records"]) == (url, records)
    assert set(archive["next_offsets"]) == {str(f.partition) for f in home.manifest.all_files()}
    assert answer("backfill", "tables")["rows"]["log"] == records
    [row] = answer("sql", "--history", "SELECT count(*) AS n FROM log")
    assert row == {"n": records}

    at_url = Home(settings(tmp_path, url), open_manifest(url))
    other = at_url.run(higher_reorder_point)
    found = answer("backfill", "diff", finished["run"], other, "--key", "L0|S3", code=1)
    assert found["record"]["verdict"] == "applied"


def test_processes_of_the_pool_read_the_bucket(home: Home, url: str, tmp_path: Path) -> None:
    expected = computed(tmp_path / "here", str(home.settings.archive_dir)).digest
    command = [sys.executable, "-m", "deploy.cli.main", "backfill", "run", "--what-if", "--json"]
    variables = {"INVENTORY_HOME": str(tmp_path / "home"), "INVENTORY_ARCHIVE": url}

    done = subprocess.run(  # noqa: S603 -- our own command
        command,
        env=os.environ | variables,
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["digest"] == expected
    assert all(" units: partition=" in line for line in done.stderr.splitlines())


def test_explain_and_simulate_read_the_url(home: Home, url: str, tmp_path: Path) -> None:
    key, path = "L0|S3", home.settings.archive_dir
    number = partition_of(key.encode(), PARTITIONS)
    of_path, of_url = (
        history_of(settings(tmp_path, archive), key, number) for archive in (str(path), url)
    )
    scenarios = with_baseline([])
    units = [
        units_for(simulation.Request(tmp_path, scenarios, archive=archive))
        for archive in (path, url)
    ]

    assert of_url == of_path
    assert of_url.row_offsets
    assert [unit.sources for unit in units[1]] == [unit.sources for unit in units[0]] != []


def test_commands_add_no_records_to_a_named_archive(url: str, tmp_path: Path) -> None:
    known = settings(tmp_path, url)

    with pytest.raises(NoBroker, match="no command adds records to a named archive"):
        run(settings=known, until="2100-01-01")
    with pytest.raises(NoArchive, match="an archive at a URL can only be read"):
        _ = open_manifest(url).directory


def test_changed_credentials_create_another_s3_client(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_manifest(url).all_files()

    with_another_secret(monkeypatch)

    with pytest.raises(NoArchive):
        open_manifest(url)
