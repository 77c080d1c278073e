"""Archives: members are inputs, damage is told, and nothing leads outside."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.sources import find, find_in_memory
from forensics.sources.archive import list_members
from forensics.sources.listing import MEMBERS
from forensics.sources.room import KEPT
from forensics.sources.unpack import Damage

LOG = b"".join(b"step %d | loss 2.%d\n" % (i, i * 7919 % 1000) for i in range(5000))


def tar(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_members_of_a_tar_are_inputs(mode: str, tmp_path: Path) -> None:
    """Each regular file is read under `archive!member`, packed members too; code is left out as in a folder."""
    files = {"run/train.log": LOG, "run/gpu.log.gz": gzip.compress(LOG), "run/x.py": b"pass\n", "run/exit_code": b"1\n"}
    (tmp_path / "logs.tar").write_bytes(tar(files, mode))
    found = find([str(tmp_path)])
    assert {made.source.path: made.read(1 << 20) for made in found.inputs} == {
        "logs.tar!run/train.log": LOG,
        "logs.tar!run/gpu.log.gz": LOG,
        "logs.tar!run/exit_code": b"1\n",
    }
    assert all(made.source.bytes == len(made.read(1 << 20)) for made in found.inputs)
    assert not found.notes


def test_members_of_a_zip_are_inputs() -> None:
    """A zip is read like a folder."""
    found = find_in_memory({"a.zip": zipped({"train.log": LOG, "deep/exit_code": b"1\n"})})
    assert {made.source.path: made.source.kind for made in found.inputs} == {
        "a.zip!train.log": "training-log",
        "a.zip!deep/exit_code": "exit-code",
    }


class Counted(io.BytesIO):
    """A file that counts the bytes that are read of it, and how many of its kind are open."""

    taken = 0
    opened = 0
    most = 0

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        Counted.opened += 1
        Counted.most = max(Counted.most, Counted.opened)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as any file does."""
        data = super().read(size)
        Counted.taken += len(data)
        return data

    def close(self) -> None:
        """Close as any file does."""
        Counted.opened -= not self.closed
        super().close()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_each_member_of_a_zip_costs_its_own_bytes(method: int) -> None:
    """The directory is read once, not for each of its members, and one file is open at a time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for number in range(2000):
            archive.writestr(f"d/{number}.log", b"step %d" % number)
    Counted.taken = Counted.opened = Counted.most = 0
    listing = list_members("zip", lambda: Counted(buffer.getvalue()))
    content = [b"".join(member.raw(Damage())) for member in listing.members]
    assert content == [b"step %d" % number for number in range(2000)]
    # Once for the directory, once for the members; a file is read in blocks, so a member takes its neighbours along.
    assert Counted.taken < 2 * len(buffer.getvalue()) + 2000 * 4200
    assert Counted.most == 1
    assert Counted.opened == 0


def test_more_members_than_are_listed_are_told() -> None:
    """What a hostile archive holds beyond the cap is not read, and not passed over in silence."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(MEMBERS + 1):
            archive.writestr(f"{number}.log", b"")
    listing = list_members("zip", lambda: io.BytesIO(buffer.getvalue()))
    assert len(listing.members) == MEMBERS
    assert str(MEMBERS) in listing.damage.why


def test_a_member_too_large_to_keep_is_read_in_place() -> None:
    """Memory is bounded: a large member is found again by its position."""
    large = b"".join(b"step %d | loss 2.5\n" % i for i in range(KEPT // 16))
    assert len(large) > KEPT
    found = find_in_memory({"a.tgz": tar({"small.log": LOG, "large.log": large, "last.log": LOG})})
    contents = {made.source.path: b"".join(made.chunks()) for made in found.inputs}
    assert contents == {"a.tgz!small.log": LOG, "a.tgz!large.log": large, "a.tgz!last.log": LOG}


def test_an_archive_in_an_archive_is_opened_and_no_deeper() -> None:
    """Two levels are opened; a third is named and left."""
    two = zipped({"in.tgz": tar({"train.log": LOG})})
    found = find_in_memory({"out.zip": two})
    assert [made.source.path for made in found.inputs] == ["out.zip!in.tgz!train.log"]
    found = find_in_memory({"more.zip": zipped({"out.zip": two})})
    assert not found.inputs
    assert "archives deep, not opened" in found.notes[0]


def test_a_cut_tar_keeps_its_readable_members() -> None:
    """Members before the cut are whole; the one at the cut is partial and says so; the archive is noted."""
    packed = tar({"a.log": LOG, "b.log": LOG[::-1]})
    found = find_in_memory({"logs.tgz": packed[: len(packed) - 6000]})
    first, second = (made.source for made in found.inputs)
    assert (first.path, first.state, first.read) == ("logs.tgz!a.log", "whole", "all")
    assert (second.path, second.state, second.read) == ("logs.tgz!b.log", "cut", "partial")
    assert 0 < second.bytes < len(LOG)
    assert "too early" in found.notes[0]


def test_a_zip_without_its_directory_is_salvaged() -> None:
    """The directory stands last in a zip, so a cut one has lost it; its members are still there."""
    packed = zipped({"a.log": LOG, "b.log": LOG})
    found = find_in_memory({"logs.zip": packed[: len(packed) - 200]})
    assert [made.source.path for made in found.inputs] == ["logs.zip!a.log", "logs.zip!b.log"]
    assert found.inputs[0].read(1 << 20) == LOG
    assert "damaged or cut" in found.notes[0]


@pytest.mark.parametrize("junk", [b"PK\x03\x04" + bytes(40), b"PK\x05\x06" + bytes(4), b"\x1f\x8b\x08" + bytes(40)])
def test_a_ruined_archive_is_an_input_that_could_not_be_read(junk: bytes) -> None:
    """Nothing readable inside is still told, not raised."""
    found = find_in_memory({"logs.zip": junk})
    assert [(made.source.state in {"cut", "empty"}, made.read(10)) for made in found.inputs] == [(True, b"")]


def test_hostile_members_stay_inside(tmp_path: Path) -> None:
    """Names that climb out are only names; links and devices are counted, not followed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("../../etc/evil.log", "/abs/train.log"):
            info = tarfile.TarInfo(name)
            info.size = len(LOG)
            archive.addfile(info, io.BytesIO(LOG))
        link = tarfile.TarInfo("passwd.log")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (tmp_path / "x.tar").write_bytes(buffer.getvalue())
    found = find([str(tmp_path / "x.tar")])
    assert sorted(made.source.path for made in found.inputs) == ["x.tar!abs/train.log", "x.tar!etc/evil.log"]
    assert "1 links or devices in it were not followed" in found.notes[0]


def test_a_checkpoint_is_a_zip_but_no_archive() -> None:
    """What torch.save writes is one file, left unread with the reason."""
    found = find_in_memory({"model.pt": zipped({"archive/data.pkl": b"x", "archive/data/0": bytes(100)})})
    (made,) = found.inputs
    assert (made.source.kind, made.source.read) == ("checkpoint", "skipped")
    assert made.source.why


SMALL = {"a/train.log": b"step 1 | loss 2.5\n" * 40, "b.gz": gzip.compress(b"step 2\n"), "exit_code": b"1\n"}
ARCHIVES = [tar(SMALL, "w"), tar(SMALL), zipped(SMALL), zipped({"x.tgz": tar(SMALL)})]


@given(
    st.sampled_from(ARCHIVES),
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), max_size=6),
    st.integers(0, 20_000),
)
def test_no_damage_to_an_archive_raises(archive: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    """Any byte may be wrong and any end missing: what is found can be read, and the rest is told."""
    data = bytearray(archive)
    for at, value in changes:
        data[at % len(data)] = value
    found = find_in_memory({"logs": bytes(data[: len(data) - cut % len(data)])})
    for made in found.inputs:
        b"".join(made.chunks())
    assert found.inputs or found.notes
