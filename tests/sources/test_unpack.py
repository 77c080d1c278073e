"""Compressed streams: whole, cut, damaged, nested, and made to explode."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources.encoding import transcode
from forensics.sources.unpack import Damage, decompress
from tests.packing import zstd

TEXT = b"".join(b"step %d | loss %d.%d\n" % (i, i * 7919 % 13, i * 104729 % 9973) for i in range(60_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstd.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "bz2": bz2.compress,
}
every_packer = pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)


def content(data: bytes) -> tuple[bytes, Damage]:
    damage = Damage()
    return b"".join(decompress(io.BytesIO(data), damage)), damage


def whole(data: bytes) -> bytes:
    """Return what a stream holds in which nothing is damaged."""
    kept, damage = content(data)
    assert (damage.why, damage.cut) == ("", False)
    return kept


@every_packer
def test_a_packed_stream_comes_out_whole(packer: Callable[[bytes], bytes]) -> None:
    """One member, several that were appended, padding behind them, and a packed packed file."""
    packed = packer(TEXT)
    assert whole(packed) == TEXT
    assert whole(packer(b"a\n") + packer(b"b\n")) == b"a\nb\n"
    assert whole(packed + bytes(512)) == TEXT
    assert whole(gzip.compress(packed)) == TEXT


@every_packer
def test_a_cut_stream_keeps_what_is_readable(packer: Callable[[bytes], bytes]) -> None:
    """The content before the cut is there, and the damage says that the end is missing."""
    packed = packer(TEXT)
    kept, damage = content(packed[: len(packed) * 3 // 4])
    assert TEXT.startswith(kept)
    assert len(kept) > 1000
    assert damage.cut
    assert "too early" in damage.why


@every_packer
def test_a_damaged_stream_keeps_what_comes_before(packer: Callable[[bytes], bytes]) -> None:
    """Garbage in the middle ends the stream there, with the reason."""
    packed = bytearray(packer(TEXT))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = b"\xa5" * 64
    kept, damage = content(bytes(packed))
    assert kept != TEXT
    assert damage.cut


def test_what_follows_a_packed_member_is_told_not_read() -> None:
    """Text appended to a gzip file by mistake is no part of it, but no cut either."""
    kept, damage = content(gzip.compress(b"a\n") + b"plain text\n")
    assert (kept, damage.cut) == (b"a\n", False)
    assert "other data follows" in damage.why


@every_packer
def test_a_bomb_is_stopped_in_bounded_pieces(packer: Callable[[bytes], bytes]) -> None:
    """Far more zeros than any log packs to are given up on, and no piece of them is large."""
    damage = Damage()
    total = 0
    for block in decompress(io.BytesIO(packer(bytes(160 << 20))), damage):
        assert len(block) < 10 << 20
        total += len(block)
    assert total < 160 << 20
    assert "300 times its size" in damage.why


def test_a_plain_stream_passes_through() -> None:
    """What is not compressed is left as it is, even if it begins almost like something that is."""
    for data in (b"", b"plain\n", b"BZh is how bzip2 begins\n", b"\x1f"):
        assert whole(data) == data


def test_layers_end_somewhere() -> None:
    """A file packed a dozen times over is refused, not followed."""
    packed = b"x"
    for _ in range(12):
        packed = gzip.compress(packed)
    kept, damage = content(packed)
    assert kept == b""
    assert "times over" in damage.why


@given(st.binary(max_size=300), st.sampled_from(sorted(PACKERS)), st.integers(0, 300), st.integers(0, 255))
def test_no_bytes_make_unpacking_raise(data: bytes, packer: str, at: int, value: int) -> None:
    """Any byte of a packed file may be wrong."""
    packed = bytearray(PACKERS[packer](data))
    packed[at % len(packed)] = value
    content(bytes(packed))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_wide_text_becomes_utf_8(encoding: str) -> None:
    """PowerShell's and other wide encodings read as UTF-8, however they are cut into pieces."""
    data = "step 1 | loss 2.5\nRuntimeError: Ünïcode\n".encode(encoding)
    pieces = (data[:60], *(data[i : i + 7] for i in range(60, len(data), 7)))
    assert b"".join(transcode(iter(pieces))) == "step 1 | loss 2.5\nRuntimeError: Ünïcode\n".encode()


def test_holes_are_not_taken_for_wide_text() -> None:
    """Runs of NUL bytes are damage and stay what they are."""
    for data in (bytes(600), b"step 1\n" + bytes(600), b"a\0b\0"):
        assert b"".join(transcode(iter([data]))) == data
