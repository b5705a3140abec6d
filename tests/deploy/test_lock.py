"""Lock files are resolved by the real tool and contain no registry address."""

import re

import pytest

from deploy import lock

EVERYTHING = """\
pip==26.0 \\
    --hash=sha256:aa
pipdeptree==2.0 \\
    --hash=sha256:bb
setuptools==80.9.0 \\
    --hash=sha256:cc \\
    --hash=sha256:dd
uv==0.9.1 \\
    --hash=sha256:ee
"""


def test_the_installer_gets_its_entries_of_the_complete_lock_with_all_hashes() -> None:
    taken = lock.installer_lines(EVERYTHING)

    assert re.findall(r"^(\w+)==", taken, re.MULTILINE) == ["pip", "setuptools", "uv"]
    assert re.findall("sha256:(..)", taken) == ["aa", "cc", "dd", "ee"]


@pytest.mark.parametrize("constrained", [False, True])
def test_an_empty_lock_queries_no_index_and_contains_no_index_address(
    tmp_path, monkeypatch, *, constrained: bool
) -> None:
    wanted, constraint = tmp_path / "wanted.in", tmp_path / "constraint.txt"
    wanted.write_text("# nothing\n")
    constraint.write_text("pip==26.0\n")
    monkeypatch.setattr(lock, "_REQUIREMENTS", tmp_path)
    # An index in this machine's configuration. `uv` would write its address into the lock file.
    monkeypatch.setenv("UV_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("UV_FIND_LINKS", "/nowhere/wheels")

    lock.compile_requirements("made", [str(wanted)], constraint if constrained else None)

    assert (tmp_path / "made.txt").read_text().strip() == ""
