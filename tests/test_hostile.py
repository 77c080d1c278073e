"""Evidence that is large out of malice or misfortune: bounded memory, an end, and a word about what was left out.

Each case is scaled down to run in seconds; what bounds it does not depend on the size.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import socket
import struct
import subprocess
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.program import COMMAND, OOM, environment
from tests.packing import zstd

ZEROS = bytes(1 << 20)
STEP = b"step 7/90000 loss 2.5\n"
MOST_MIB = 300
"""What the whole process tree may take, whatever it is given."""


def examined(folder: Path) -> dict[str, Any]:
    """Run the real command; return the report, having watched the memory of all its processes."""
    command = [*COMMAND, "analyze", str(folder), "--format", "json"]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        watched = psutil.Process(process.pid)

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                try:
                    tree = [watched, *watched.children(recursive=True)]
                    peak = max(peak, sum(part.memory_info().rss for part in tree))
                except psutil.Error:
                    continue
                time.sleep(0.01)

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, err = process.communicate()
        watcher.join()
    assert (process.returncode, err) == (0, b"")
    assert peak >> 20 < MOST_MIB
    made: dict[str, Any] = json.loads(out)
    return made


def said(report: dict[str, Any]) -> str:
    return "\n".join([*report["notes"], *(source["why"] for source in report["sources"])])


@pytest.mark.parametrize(
    ("suffix", "packed"),
    [("gz", gzip.compress), ("zst", zstd.compress), ("xz", lzma.compress), ("bz2", bz2.compress)],
)
def test_a_bomb_is_read_in_part(tmp_path: Path, suffix: str, packed: Callable[[bytes], bytes]) -> None:
    """A file that unpacks to more than any log is ended there, and the log beside it is read."""
    (tmp_path / f"rank_1.log.{suffix}").write_bytes(packed(ZEROS * 128))
    (tmp_path / "train.log").write_bytes(STEP + OOM.encode())
    report = examined(tmp_path)
    assert report["verdict"] == "failed"
    assert "it unpacks to more than 300 times its size: only the first" in said(report)


@pytest.mark.parametrize(
    ("suffix", "packer"), [("gz", lambda: zlib.compressobj(1, zlib.DEFLATED, 31)), ("zst", zstd.ZstdCompressor)]
)
def test_a_bomb_behind_text_is_unpacked_piece_by_piece(tmp_path: Path, suffix: str, packer: Callable[[], Any]) -> None:
    """What the first megabytes unpack to says nothing of the next: a few bytes of them may hold all memory there is."""
    stream = packer()
    text = b"".join(b"step %d/999999 loss %d.%d\n" % (i, i * 7919 % 13, i * 104729 % 99_991) for i in range(300_000))
    parts = [stream.compress(text), *(stream.compress(ZEROS) for _ in range(500)), stream.flush()]
    (tmp_path / f"train.log.{suffix}").write_bytes(b"".join(parts))
    source = examined(tmp_path)["sources"][0]
    assert (source["state"], source["lines"]) == ("nul-tail", 300_001)


def overlapping(members: int, each: bytes) -> bytes:
    """Make a zip whose members all stand on the same packed bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(each) + packer.flush()
    sizes = struct.pack("<III", zlib.crc32(each), len(body), len(each))
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes + struct.pack("<HH", 1, 0) + b"a" + body
    entry = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0) + sizes
    entry += struct.pack("<HHHHHII", 1, 0, 0, 0, 0, 0, 0) + b"a"
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, members, members, len(entry) * members, len(local), 0)
    return local + entry * members + end


def test_members_that_share_their_bytes_are_no_way_around_it(tmp_path: Path) -> None:
    """Each of them alone would be read; together they unpack to terabytes."""
    (tmp_path / "logs.zip").write_bytes(overlapping(4000, ZEROS * 20))
    assert "its members unpack to more than 300 times its size: the rest was not read" in said(examined(tmp_path))


def test_archives_in_an_archive_share_its_budget(tmp_path: Path) -> None:
    """A hundred archives of sixteen bombs each are one bomb."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(16):
            archive.writestr(f"{number}.log", ZEROS * 4)
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(100):
            archive.writestr(f"{number}.zip", inner.getvalue())
    report = examined(tmp_path)
    assert "its members unpack to more than 300 times its size" in said(report)
    assert len(report["notes"]) < 40


def test_a_name_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A header before a member may say that the member's name follows, in any length."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    with gzip.open(tmp_path / "logs.tar.gz", "wb") as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(400):
            file.write(ZEROS)
    assert "a name or attributes of 3221225472 bytes" in said(examined(tmp_path))


def test_large_members_of_a_packed_archive_cost_their_size_once(tmp_path: Path) -> None:
    """They fit no memory and have no place, so they are laid down; a cut one keeps its beginning."""
    log = STEP * (10 << 20 >> 4)
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz", compresslevel=1) as archive:
        for number in range(3):
            info = tarfile.TarInfo(f"rank_{number}.log")
            info.size = len(log)
            archive.addfile(info, io.BytesIO(log))
    data = (tmp_path / "logs.tar.gz").read_bytes()
    (tmp_path / "logs.tar.gz").write_bytes(data[: len(data) * 5 // 6])
    report = examined(tmp_path)
    assert [source["bytes"] for source in report["sources"]][:2] == [len(log)] * 2
    assert 0 < report["sources"][2]["bytes"] < len(log)
    assert (report["sources"][2]["read"], report["sources"][2]["state"]) == ("partial", "cut")


def test_a_zip_without_its_end_is_read_as_it_stands(tmp_path: Path) -> None:
    """No member of it is held in memory, however large it is."""
    log = STEP * (12 << 20 >> 4)
    with zipfile.ZipFile(tmp_path / "logs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(4):
            archive.writestr(f"rank_{number}.log", log)
    data = (tmp_path / "logs.zip").read_bytes()
    (tmp_path / "logs.zip").write_bytes(data[: len(data) * 7 // 8])
    report = examined(tmp_path)
    assert [source["bytes"] for source in report["sources"]][:3] == [len(log)] * 3
    assert "the archive ends before the end of this member" in report["sources"][3]["why"]


def test_one_line_of_all_bytes(tmp_path: Path) -> None:
    """A line without an end is read in pieces, and what stands behind it is found."""
    with (tmp_path / "train.log").open("wb") as file:
        file.write(STEP)
        for _ in range(96):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + OOM.encode())
    report = examined(tmp_path)
    assert [finding["id"] for finding in report["findings"] if finding["role"] == "root"] == ["memory.gpu-oom"]
    assert "very long lines were read only in part" in said(report)


def test_a_log_of_nothing_but_errors(tmp_path: Path) -> None:
    """What is kept of it is bounded, and how much was not kept is told."""
    (tmp_path / "train.log").write_bytes((OOM.splitlines()[-1] + "\n").encode() * 21_000)
    report = examined(tmp_path)
    assert report["verdict"] == "failed"
    assert len(report["findings"]) < 10
    assert report["sources"][0]["lines"] == 21_000
    assert report["notes"], "what was left out is told"


def test_a_log_that_grows_faster_than_it_is_read(tmp_path: Path) -> None:
    """It is read up to where it ended when it was found, and the report says so."""
    path = tmp_path / "train.log"
    path.write_bytes(STEP * 400_000)
    done = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not done.is_set():
                file.write(STEP * 2_000)
                time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        report = examined(tmp_path)
    finally:
        done.set()
        writer.join()
    (source,) = report["sources"]
    assert source["read"] == "partial"
    assert source["why"] == f"it grew while it was read: this is on its first {source['bytes']} bytes"
    assert source["bytes"] == source["lines"] * len(STEP) < path.stat().st_size


def test_a_terabyte_of_hole(tmp_path: Path) -> None:
    """A log whose file system lost its end is as large as what was written to it."""
    with (tmp_path / "train.log").open("wb") as file:
        file.write(STEP * 100)
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("this file system has no room for a hole")
    report = examined(tmp_path)
    assert report["sources"][0]["bytes"] == 1 << 40
    assert report["sources"][0]["state"] == "nul-tail"
    assert "are a hole, NUL bytes that were never written" in said(report)


def test_pipes_sockets_devices_and_links_are_counted(tmp_path: Path) -> None:
    """Thousands of things that are no files cost one note, and none of them is opened."""
    for number in range(600):
        os.mkfifo(tmp_path / f"pipe_{number}.log")
        (tmp_path / f"link_{number}.log").symlink_to("/etc/passwd")
        (tmp_path / f"loop_{number}.log").symlink_to(tmp_path)
        (tmp_path / f"gone_{number}.log").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(tmp_path)  # the address of a socket has room for a hundred characters
        try:
            bound.bind("s.log")
        finally:
            os.chdir(here)
    (tmp_path / "train.log").write_bytes(STEP + OOM.encode())
    report = examined(tmp_path)
    assert report["verdict"] == "failed"
    assert len(report["sources"]) == 1
    for note in (
        "593 more of these: a pipe, socket or device, not read",
        "592 more of these: a link out of the folder, not followed",
        "592 more of these: a link to nothing",
    ):
        assert note in report["notes"]


@pytest.mark.slow
def test_more_files_than_anybody_can_read(tmp_path: Path) -> None:
    """Beyond a limit files are counted as not read, in memory that does not grow with them."""
    for number in range(30_000):
        (tmp_path / f"rank_{number}.log").write_bytes(STEP)
    report = examined(tmp_path)
    assert len(report["sources"]) == 20_000
    assert "a folder of more than 20000 entries, the rest was not looked at" in said(report)


def test_names_that_have_nothing_to_do_with_one_another(tmp_path: Path) -> None:
    """Telling tries apart looks at what is related only: thousands of other names cost nothing."""
    for number in range(3000):
        (
            tmp_path / f"{zlib.crc32(str(number).encode()):08x}".translate(str.maketrans("0123456789", "ghijklmnop"))
        ).write_bytes(STEP)
    assert len(examined(tmp_path)["sources"]) == 3000
