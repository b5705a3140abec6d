"""Installed files are pinned by hash, and no committed file names a package registry."""

import hashlib
import re

import pytest

from deploy.artifacts import fetch
from deploy.stack.home import PROJECT
from tests.house.sources import committed_files

LOCKS = sorted((PROJECT / "requirements").glob("*.txt"))
ADDRESS = re.compile(
    r"https?://|--(extra-)?index|--find-links|--trusted-host|(^|\s)-[if]\s|@ file:"
)
PATHS_OF_A_MACHINE = re.compile(r"(?<![\w.])/(root|work|opt/wheels)/|(?<![\w.])/home/\w+/")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_has_hashes_and_no_address(lock) -> None:
    text = lock.read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]

    assert not ADDRESS.search(text)
    assert entries
    assert all(re.match(r"[a-z0-9._-]+==\S+", entry) for entry in entries)
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_smaller_locks_agree_with_the_complete_one() -> None:
    def pins(path):
        return set(re.findall(r"^([a-z0-9._-]+==[^\s;]+)", path.read_text(), re.MULTILINE))

    everything = pins(PROJECT / "requirements/dev.txt")
    # Peers of the bench are never installed beside the others.
    together = [path for path in LOCKS if not path.name.startswith("peers-")]

    assert {p.name: pins(p) - everything for p in together} == {p.name: set() for p in together}


def test_every_jvm_file_is_listed_with_a_sha256() -> None:
    listed = fetch.read_list()

    assert len(listed) > 100
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in listed.values())


def test_log4j_looks_nothing_up_in_messages() -> None:
    """Before 2.16, log4j evaluates `${jndi:…}` in messages. Version 1 has other vulnerabilities."""
    found = [
        re.fullmatch(r"log4j-(?:core|api)-(\d+)\.(\d+)\.\d+\.jar", path.rpartition("/")[2])
        for path in fetch.read_list()
        if re.search(r"log4j-(core|api|1)", path)
    ]

    assert len(found) == 2
    assert all(jar is not None and (int(jar[1]), int(jar[2])) >= (2, 17) for jar in found)


def test_a_changed_an_extra_and_a_missing_file_are_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs/a.jar").write_bytes(b"a")
    good = {"libs/a.jar": hashlib.sha256(b"a").hexdigest()}
    monkeypatch.setattr(fetch, "read_list", lambda: good)
    fetch.verify(tmp_path)

    for change in (
        lambda: (tmp_path / "libs/a.jar").write_bytes(b"b"),
        lambda: (tmp_path / "libs/extra.jar").write_bytes(b"x"),
        lambda: [path.unlink() for path in (tmp_path / "libs").iterdir()],
    ):
        change()
        with pytest.raises(fetch.ChecksumMismatch):
            fetch.verify(tmp_path)


def test_no_committed_file_has_a_path_of_a_developers_machine() -> None:
    listed = committed_files()
    me = "tests/house/test_supply.py"
    found = [
        path
        for path in listed
        if path != me and (PROJECT / path).is_file() and "vendor" not in path
        if PATHS_OF_A_MACHINE.search((PROJECT / path).read_text(encoding="utf-8", errors="replace"))
    ]

    assert found == []
