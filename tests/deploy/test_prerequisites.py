"""Required programs: found, too old, installed or requested. Small scripts replace them."""

import os
import subprocess
import sys

import pytest

from deploy.artifacts import fetch, prerequisites
from deploy.artifacts.prerequisites import JAVA, MAVEN, Program, as_root
from deploy.errors import MissingPrerequisite, StackError
from deploy.stack.home import PROJECT

TOOL = Program("retail-tool", "retail-package", "is made up")
OLD_JAVA = "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Set PATH to one empty folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def write(folder, name, body) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_a_missing_program_is_named_with_its_purpose_and_package(programs) -> None:
    with pytest.raises(MissingPrerequisite, match="retail-tool is missing: it is made up") as told:
        prerequisites.require(TOOL)

    assert told.value.repair == as_root("apt-get install -y retail-package")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")
def test_root_installs_a_missing_program(programs) -> None:
    body = f'echo "$@" >> {programs}/said; printf "#!/bin/bash\\n" > {programs}/retail-tool\n'
    write(programs, "apt-get", body + f"/bin/chmod 755 {programs}/retail-tool")

    assert prerequisites.require(TOOL) == str(programs / "retail-tool")

    said = (programs / "said").read_text(encoding="utf-8").splitlines()
    assert said == ["-q update", "-q install -y --no-install-recommends retail-package"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs")
def test_the_error_of_a_failed_installation_contains_the_output_of_apt(programs) -> None:
    write(programs, "apt-get", "echo no network >&2; exit 100")

    with pytest.raises(MissingPrerequisite, match="no network"):
        prerequisites.require(TOOL)


@pytest.mark.parametrize("is_root", [True, False])
def test_another_program_is_used_where_the_first_cannot_be_installed(
    programs, monkeypatch, is_root
) -> None:
    tool = Program("fast-tool", "fast-package", "is made up", instead="retail-tool")
    monkeypatch.setattr(os, "geteuid", lambda: 0 if is_root else 1000)
    write(programs, "apt-get", "echo no network >&2; exit 100")

    with pytest.raises(MissingPrerequisite):
        prerequisites.require(tool)
    write(programs, "retail-tool", "")
    assert prerequisites.require(tool) == str(programs / "retail-tool")

    write(programs, "fast-tool", "")
    assert prerequisites.require(tool) == str(programs / "fast-tool")


def test_the_java_of_java_home_comes_first_and_an_old_one_is_refused(programs, monkeypatch) -> None:
    write(programs / "old/bin", "java", OLD_JAVA)
    monkeypatch.setenv("JAVA_HOME", str(programs / "old"))

    assert prerequisites.find(JAVA) == str(programs / "old/bin/java")
    with pytest.raises(MissingPrerequisite, match="is Java 11; the broker needs 17"):
        prerequisites.require_java()


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ("echo 'Picked up JAVA_TOOL_OPTIONS: -Dx=y' >&2; " + OLD_JAVA, 11),
        ("echo 'NOTE: Picked up JDK_JAVA_OPTIONS: -Dx=y' >&2; " + OLD_JAVA, 11),
        ("exit 1", 0),
    ],
)
def test_the_version_of_java_is_found_below_a_note(programs, output, major) -> None:
    write(programs, "java", output)

    assert prerequisites.java_major(str(programs / "java")) == major
    assert "Picked up" not in prerequisites.java_version(str(programs / "java"))


def test_fetched_parts_are_verified_moved_into_place_and_found_again(programs, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_CACHE", str(programs / "cache"))
    out = 'for word in "$@"; do case $word in -Dout=*) out=${word#-Dout=};; esac; done\n'
    made = "/bin/mkdir -p $out/libs $out/plugins; printf a > $out/libs/a.jar"
    write(programs, MAVEN.name, out + made)
    digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    monkeypatch.setattr(fetch, "read_list", lambda: {"libs/a.jar": digest})
    assert fetch.present() is None
    said: list[str] = []

    fetched = fetch.ensure(said.append)

    assert fetched == fetch.present() == fetch.ensure()
    assert said[-1].startswith("1 file verified in ")


def test_parts_that_differ_from_the_list_are_named(programs, monkeypatch, tmp_path) -> None:
    parts = tmp_path / "parts"
    (parts / "libs").mkdir(parents=True)
    (parts / "libs/changed.jar").write_text("not as listed")
    listed = {"libs/changed.jar": "1" * 64, "plugins/missing.jar": "2" * 64}
    monkeypatch.setattr(fetch, "read_list", lambda: listed)

    with pytest.raises(fetch.ChecksumMismatch, match="2 downloaded files differ") as refused:
        fetch.verify(parts)

    assert f"The first is libs/changed.jar: expected {'1' * 64}, found " in str(refused.value)
    assert refused.value.repair.startswith("make artifacts-list")


def test_the_checksum_list_is_written_from_the_files_of_maven(
    programs, monkeypatch, tmp_path
) -> None:
    out = 'for word in "$@"; do case $word in -Dout=*) out=${word#-Dout=};; esac; done\n'
    made = "/bin/mkdir -p $out/libs $out/plugins/p; printf a > $out/libs/a.jar; printf b > $out/"
    write(programs, MAVEN.name, f"{out}{made}plugins/p/b.jar")
    monkeypatch.setattr(fetch, "CHECKSUMS", tmp_path / "jars.sha256")

    assert fetch.write_list() == 2

    assert sorted(fetch.read_list()) == ["libs/a.jar", "plugins/p/b.jar"]


def test_the_prerequisites_command_prints_the_path_of_a_program() -> None:
    command = [sys.executable, "-m", "deploy.artifacts.prerequisites", "setpriv"]

    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout  # noqa: S603 -- our own module

    assert told.startswith("setpriv: /")


def test_the_error_of_a_failed_download_contains_the_output_of_maven(programs, tmp_path) -> None:
    write(programs, MAVEN.name, "echo cannot resolve; exit 1")

    with pytest.raises(StackError, match="cannot resolve"):
        fetch.download(tmp_path / "out")
