"""The bench's peers: each environment is made once; a peer without it is skipped with a reason."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from deploy.artifacts.prerequisites import MAVEN, find
from deploy.errors import StackError
from deploy.peers import environments, services
from deploy.stack.home import Home
from deploy.stack.service import Service

JAR = "libs/kafka.jar"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_environment_is_made_once_and_has_a_python_of_its_own(cache, tmp_path) -> None:
    lock = tmp_path / "peers-none.txt"
    said: list[str] = []
    lock.write_text("# a peer that needs nothing\n")

    python = environments.python_of(lock, said.append)

    asked = [str(python), "-c", "import sys; print(sys.prefix)"]
    prefix = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 -- just made
    assert Path(prefix).parent == cache
    assert environments.python_of(lock, said.append) == python
    assert said == ["installing peers-none.txt into an environment of its own"]


def test_the_error_of_a_failed_installation_contains_the_output_of_uv(cache, tmp_path) -> None:
    lock = tmp_path / "peers-broken.txt"
    lock.write_text("no requirement at all!\n")

    with pytest.raises(StackError, match=r"uv failed: (?s:.*)no requirement at all") as refused:
        environments.python_of(lock, lambda _: None)

    assert "pip install" in refused.value.repair
    assert not list(cache.glob("*/.complete"))


def test_a_peer_without_its_environment_is_left_out_with_the_reason(cache, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)  # root would install the missing programs
    said: list[str] = []

    found = environments.make(["kstreams", "ours", "ours"], said.append)

    assert list(found.launchers) == ["ours"]
    assert found.missing == {"kstreams": "java is missing: it runs the broker and Connect"}
    assert said == ["environment kstreams: java is missing: it runs the broker and Connect"]


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java peer with one listed library, and a program that builds it as Maven would."""
    root, programs = tmp_path / "kstreams", tmp_path / "programs"
    (root / "src").mkdir(parents=True)
    (root / "src/Peer.java").write_text("class Peer {}")
    (root / "pom.xml").write_text("<project/>")
    (root / "jars.sha256").write_text(f"{hashlib.sha256(b'a').hexdigest()}  {JAR}\n")
    programs.mkdir()
    out = 'for word in "$@"; do case $word in -Dout=*) out=${word#-Dout=};; esac; done\n'
    made = "mkdir -p $out/libs; printf a > $out/libs/kafka.jar; printf b > $out/peer.jar"
    (programs / MAVEN.name).write_text(f"#!/bin/bash\n{out}{made}\n")
    (programs / MAVEN.name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(environments, "KSTREAMS", root)
    assert find(MAVEN) == str(programs / MAVEN.name)
    return root


def test_the_java_peer_is_built_once_for_its_sources(cache, peer) -> None:
    said: list[str] = []

    first = environments.java_class_path(said.append)
    again = environments.java_class_path(said.append)
    (peer / "src/Peer.java").write_text("class Peer { int changed; }")
    other = environments.java_class_path(said.append)

    assert [Path(jar).name for jar in first.split(":")] == ["peer.jar", "kafka.jar"]
    assert again == first != other
    assert len(said) == 2


def test_a_library_that_is_not_the_listed_one_is_refused(cache, peer) -> None:
    (peer / "jars.sha256").write_text(f"{hashlib.sha256(b'z').hexdigest()}  {JAR}\n")

    with pytest.raises(StackError, match=f"1 libraries differ from jars.sha256; first {JAR}"):
        environments.java_class_path(lambda _: None)

    assert not list(cache.glob("*/.complete"))


def test_a_service_that_exits_at_start_is_reported_with_its_last_log_line(tmp_path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    command = ("/bin/sh", "-c", "echo no room; exit 3")
    service = Service("broker", command, dict(os.environ), home.path, lambda _pid: False, 0)

    with (
        pytest.raises(StackError, match="broker did not start: no room"),
        services.started(service, home),
    ):
        pass
