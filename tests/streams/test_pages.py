"""Huge pages: the ranges that are requested, once each, without change of their content."""

import ctypes
import mmap
from pathlib import Path

import pytest

from streams.engine.pages import HUGE_BYTES, HugePages, Mapping, anonymous

SMAPS = """\
7f0000000000-7f0000800000 rw-p 00000000 00:00 0
Size:               8192 kB
Rss:                8000 kB
AnonHugePages:         0 kB
VmFlags: rd wr mr mw me ac
7f0001000000-7f0001800000 rw-p 00000000 00:00 0                          [heap]
Rss:                8192 kB
7f0002000000-7f0002800000 r-xp 00000000 fe:00 326269                     /usr/lib/libc.so.6
Rss:                8192 kB
7f0003100000-7f0003900000 rw-p 00000000 00:00 0
Rss:                 100 kB
"""


def used_huge_kb() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


def can_collapse() -> bool:
    """Return True if the kernel collapses memory to huge pages on request. Uses no product code."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with mmap.mmap(-1, 2 * HUGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(b"x" * len(memory))
        start = ctypes.addressof(first := ctypes.c_char.from_buffer(memory))
        del first
        aligned = -(-start // HUGE_BYTES) * HUGE_BYTES
        return bool(madvise(aligned, HUGE_BYTES, 25) == 0)


def test_only_writable_memory_without_a_name_counts() -> None:
    filled, empty = anonymous(SMAPS)

    assert filled == Mapping(0x7F0000000000, 0x7F0000800000, 8000 * 1024)
    assert filled.is_filled()
    assert not empty.is_filled()


def test_only_whole_aligned_ranges_are_asked_for() -> None:
    _, shifted = anonymous(SMAPS)

    assert list(shifted.huge_ranges()) == [0x7F0003200000, 0x7F0003400000, 0x7F0003600000]
    assert not Mapping(HUGE_BYTES + 1, 3 * HUGE_BYTES - 1, 0).huge_ranges()


@pytest.mark.skipif(not can_collapse(), reason="this kernel moves nothing onto huge pages")
def test_filled_memory_moves_once_and_keeps_its_content() -> None:
    pages = HugePages()
    pages.look()
    before_kb = used_huge_kb()
    content = bytes(range(256)) * (16 * HUGE_BYTES // 256)
    memory = mmap.mmap(-1, len(content), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.write(content)
        moved = pages.look()

        assert moved > 0
        assert used_huge_kb() > before_kb
        assert memory[:] == content
        assert pages.look() < moved
    finally:
        memory.close()


@pytest.mark.parametrize("content", [None, b"7f01-7f02 r-xp 00 fe:00 7 /a/\xff\nRss: 4 kB\n"])
def test_what_cannot_be_read_ends_no_worker(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smaps = tmp_path / "smaps"
    if content is not None:
        smaps.write_bytes(content)
    monkeypatch.setattr("streams.engine.pages._SMAPS", smaps)

    assert HugePages().look() == 0
