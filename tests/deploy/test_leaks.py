"""The search for secrets finds one in each kind of place and doesn't print it."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.leaks import processes
from deploy.leaks.needles import found_in, needles_of
from deploy.leaks.processes import allowed_in
from deploy.leaks.search import search
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, ServiceRuntime, write_environment, write_runtime
from deploy.stack.service_variables import VARIABLES_OF_SERVICES
from deploy.stack.sql_access import read_only_url

SECRET = "canary-Zq3_9x-W5vT0kLr8"  # noqa: S105 -- planted by this test
SLEEP = "import sys; print(flush=True); sys.stdin.read()"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.create()
    found.secrets()
    return found


def places(home: Home) -> list[tuple[str, str]]:
    return [(leak.secret, leak.place) for leak in search(home).leaks]


def test_a_home_as_it_is_made_holds_no_secret_in_a_wrong_place(home: Home) -> None:
    write_environment(home, {"INVENTORY_SECRET_KEY": home.secrets()["secret_key"]})

    found = search(home)

    assert found.leaks == ()
    assert found.secrets == len(home.secrets())


def test_the_sql_password_file_is_a_leak_only_if_other_accounts_can_read_it(home: Home) -> None:
    password = home.secrets()["app_ro"]
    address = f"postgresql://app_ro:{password}@127.0.0.1:1/retail"
    write_environment(home, {"INVENTORY_READ_DATABASE_URL": address})
    me = identify(os.getpid())
    write_runtime(home, Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started))
    read_only_url(home)  # needs a running stack
    write_runtime(home, Runtime())  # the search would ask its services
    file = home.path / "pgpass"

    assert password in file.read_text()
    assert places(home) == []
    file.chmod(0o640)
    assert places(home) == [("all", f"{file} can be read by other accounts")]


@pytest.mark.parametrize(
    "place", ["logs/web.log", "archive/part.parquet", "kafka/0.log", "export.csv"]
)
def test_a_secret_in_a_file_is_found(home: Home, place: str) -> None:
    file = home.path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    # The secret crosses the border of two chunks of the file.
    file.write_bytes(b"x" * 7_999_990 + home.secrets()["app_rw"].encode() + b"x" * 100)

    assert places(home) == [("app_rw", str(file))]


def test_a_quick_search_reads_logs_and_no_other_files(home: Home) -> None:
    export, log = home.path / "export.csv", home.logs / "web.log"
    for file in (export, log):
        file.write_text(home.secrets()["cdc"])

    assert [leak.place for leak in search(home, quick=True).leaks] == [str(log)]
    assert [leak.place for leak in search(home).leaks] == [str(export), str(log)]


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"postgresql://app_rw:"])
def test_a_secret_is_found_in_each_form(before: bytes) -> None:
    needles = needles_of({"key": SECRET})
    whole = before + SECRET.encode() + b"@127.0.0.1"
    texts = (
        whole,
        base64.b64encode(whole),
        base64.urlsafe_b64encode(whole),
        whole.hex().encode(),
        json.dumps({"url": whole.decode()}).encode(),
    )

    assert [found_in(needles, text) for text in texts] == [{"key"}] * len(texts)
    assert found_in(needles, base64.b64encode(before + b"canary-Zq3_9x-W5vT1kLr8")) == set()


def test_a_file_of_secrets_that_others_can_read_is_named(home: Home) -> None:
    (home.path / "secrets.json").chmod(0o644)

    assert places(home) == [("all", f"{home.path}/secrets.json can be read by other accounts")]


def test_a_secret_of_another_service_is_found_in_a_process_and_its_child(home: Home) -> None:
    secrets = home.secrets()
    variables = {"OWN": secrets["sink_rw"], "FOREIGN": secrets["app_rw"]}
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])"
    command = [sys.executable, "-c", program, secrets["query_token"]]
    with subprocess.Popen(  # noqa: S603 -- our own program
        command, env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()  # wait until the grandchild runs
        runtime = Runtime()
        runtime.services["projector"] = ServiceRuntime(
            state="running", pid=child.pid, started_ticks=identify(child.pid).started
        )
        write_runtime(home, runtime)
        found = places(home)
        child.communicate()

    assert [secret for secret, _ in found] == ["app_rw", "query_token", "app_rw"]
    assert [place.split(",")[0] for _, place in found] == [
        "environ of projector",
        "cmdline of projector",
        "environ of projector",
    ]


def test_a_service_that_starts_during_the_search_is_reported_by_its_name(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = identify(os.getpid())
    runtime = Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started)
    write_runtime(home, runtime)
    scan = processes._children
    with subprocess.Popen(  # noqa: S603 -- our own program
        [sys.executable, "-c", SLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:

        def started_meanwhile() -> dict[int, list[int]]:
            runtime.services["projector"] = ServiceRuntime(
                state="running", pid=child.pid, started_ticks=identify(child.pid).started
            )
            write_runtime(home, runtime)
            return scan()

        monkeypatch.setattr(processes, "_children", started_meanwhile)
        read = {content.place: content.allowed for content in processes.processes(home)}
        child.communicate()

    assert read[f"environ of projector, pid {child.pid}"] == {"sink_rw"}
    assert f"environ of supervisor, pid {child.pid}" not in read


def test_a_service_may_hold_only_the_secrets_that_it_is_given() -> None:
    assert allowed_in("worker-2") == {"query_token"}
    assert allowed_in("web") == {"app_rw", "query_token", "secret_key", "connect"}
    assert allowed_in("connect") == {"cdc"}
    assert allowed_in("supervisor") == allowed_in("kafka") == set()
    assert {needs.role for needs in VARIABLES_OF_SERVICES.values() if needs.role} >= allowed_in(
        "archiver"
    )


def test_the_command_exits_1_and_prints_no_secret(home: Home, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(home.path))
    secret = home.secrets()["cdc"]
    home.log_of("web").write_text(f"could not connect to postgresql://cdc:{secret}@host")

    answer = CliRunner().invoke(app, ["leaks", "--json"])

    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["leaks"] == [
        {"secret": "cdc", "place": str(home.log_of("web"))}
    ]
    assert secret not in answer.output


def test_a_directory_without_secrets_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))

    answer = CliRunner().invoke(app, ["leaks"])

    assert answer.exit_code == 1
    assert "nothing was searched" in str(answer.exception)
    assert list(tmp_path.iterdir()) == []
