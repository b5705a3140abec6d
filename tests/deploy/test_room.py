"""A directory with room is found on any disk that this account can write to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.stack import room
from deploy.stack.home import Home

NOBODY = 65534


def mounts(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Replace the machine's list of mounts by `lines`, and remove all other candidates."""
    content = "".join(f"{line}\n" for line in lines).encode()
    # Use no file, because the account of the test may not read pytest's directories.
    monkeypatch.setattr(room, "_MOUNTS", SimpleNamespace(read_bytes=lambda: content))
    monkeypatch.setattr(room, "_USUAL", ())
    monkeypatch.delenv("HOME", raising=False)


@contextmanager
def without_rights() -> Iterator[None]:
    """Act as account `nobody` if this process is root, because root may read everything."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_names_of_mount_points_are_read_as_the_kernel_writes_them(tmp_path, monkeypatch) -> None:
    names = ("My Disk", "Kühlraum", "tab\there", "back\\slash")
    for name in names:
        (tmp_path / name).mkdir()
    written = ("My\\040Disk", "Kühlraum", "tab\\011here", "back\\134slash")
    lines = [f"/dev/sdb {tmp_path}/{name} ext4 rw 0 0" for name in written]
    mounts(monkeypatch, *lines, f"none {tmp_path} tmpfs rw 0 0")

    assert room.candidates() == tuple(tmp_path / name for name in names)


def test_a_disk_below_a_closed_directory_is_passed_over(tmp_path, monkeypatch) -> None:
    closed, disk = tmp_path / "closed", tmp_path / "closed" / "disk"
    disk.mkdir(parents=True)
    lines = [f"/dev/sdb {disk} ext4 rw 0 0", f"/dev/sdc /{'x' * 300} ext4 rw 0 0"]
    mounts(monkeypatch, *lines)
    closed.chmod(0o000)
    try:
        with without_rights():
            found = room.candidates(), room.larger_disk(Home(disk))
            above = room.existing(disk / "home")
    finally:
        closed.chmod(0o700)

    assert found == ((), None)
    assert above in (closed, *closed.parents)


def test_a_new_directory_gets_a_number_if_its_name_exists(tmp_path) -> None:
    home = Home(Path("/somewhere/.inventory"))
    first = room.new_in(tmp_path, home)
    first.symlink_to(tmp_path / "gone")

    assert first == tmp_path / "retail-inventory-inventory"
    assert room.new_in(tmp_path, home) == tmp_path / "retail-inventory-inventory-2"
