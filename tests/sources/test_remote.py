"""Folders and files elsewhere are read like those on disk: in ranges, bounded, with no secret in any word."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import json
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.render.json_v1 import to_json
from forensics.sources import SourceError, find
from forensics.sources import remote as remote_sources
from forensics.text.urls import redacted, scheme
from tests.cli.program import OOM, environment, run

pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")

LOG = b"".join(b"step %d/90000 loss %.3f\n" % (i, 9 - i * 1e-4) for i in range(10_000)) + OOM.encode()


class Served(http.server.SimpleHTTPRequestHandler):
    """A web server that gives ranges, and counts what it gave."""

    ranges = True
    given: list[int]

    def do_GET(self) -> None:
        """Answer with the range that was asked for."""
        asked = self.headers.get("Range", "")
        path = Path(self.translate_path(self.path.partition("?")[0]))
        if "secret" in self.path and "sig=right" not in self.path:
            self.send_error(403)
            return
        if not (self.ranges and asked.startswith("bytes=") and path.is_file()):
            super().do_GET()
            return
        first, _, last = asked.removeprefix("bytes=").partition("-")
        data = path.read_bytes()
        part = data[int(first) : int(last or len(data)) + 1]
        self.given.append(len(part))
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path, type[Served]]]:
    """Lend the address of a folder that is served, the folder, and its server's handler."""
    (tmp_path / "www").mkdir()

    class Handler(Served):
        given: list[int] = []  # noqa: RUF012 - one list for one test

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path / "www"))
    )
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a reader that has enough hangs up
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", tmp_path / "www", Handler
    server.shutdown()
    server.server_close()
    thread.join()


def fill(folder: Path) -> None:
    """Lay down a run with packed and archived parts, and what is no evidence."""
    (folder / "train.log").write_bytes(LOG)
    (folder / "ranks").mkdir()
    (folder / "ranks" / "rank_1.log.gz").write_bytes(gzip.compress(LOG))
    with tarfile.open(folder / "more.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("rank_2.log")
        info.size = len(LOG)
        archive.addfile(info, io.BytesIO(LOG))
    with zipfile.ZipFile(folder / "more.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("rank_3.log", LOG)
    (folder / ".git").mkdir()
    (folder / ".git" / "x.log").write_bytes(LOG)


def told(path: str) -> dict[str, object]:
    """Return what is said of a run but for its path and the times of its files."""
    made: dict[str, object] = json.loads(to_json(analyze([path])))
    made.pop("run")
    return made


def test_a_web_server_is_read_like_a_folder(served: tuple[str, Path, type[Served]]) -> None:
    """The same report as of the folder on disk, and no request for more than a range."""
    url, folder, handler = served
    fill(folder)
    assert told(f"{url}/") == told(str(folder))
    assert handler.given
    assert max(handler.given) <= remote_sources.RANGE


def test_a_store_in_memory_is_read_like_a_folder(tmp_path: Path) -> None:
    """The file system of fsspec itself is as good as the others."""
    fill(tmp_path)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path) + "/", "/runs/one/", recursive=True)
    try:
        assert told("memory://runs/one") == told(str(tmp_path))
        assert told("memory://runs/one/train.log") == told(str(tmp_path / "train.log"))
    finally:
        memory.rm("/runs", recursive=True)


def test_a_large_log_is_read_in_ranges(served: tuple[str, Path, type[Served]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its head and its tail are fetched once, and each range as often as the log is read through."""
    url, folder, handler = served
    monkeypatch.setattr(remote_sources, "RANGE", 1 << 16)
    (folder / "train.log").write_bytes(LOG)
    (made,) = find([f"{url}/train.log"]).inputs
    assert sum(handler.given) <= 3 * remote_sources.RANGE
    assert b"".join(made.chunks()) == LOG
    assert sum(handler.given) <= len(LOG) + 3 * remote_sources.RANGE


def test_a_server_without_ranges_is_read_once(
    served: tuple[str, Path, type[Served]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can only be had whole is read like a pipe, up to the limit of pipes, and the limit is told."""
    url, folder, handler = served
    monkeypatch.setattr(handler, "ranges", False)
    monkeypatch.setattr(remote_sources, "RANGE", 1 << 16)
    (folder / "train.log").write_bytes(LOG)
    assert told(f"{url}/train.log") == told(str(folder / "train.log"))
    monkeypatch.setattr(sys.modules["forensics.sources.find"], "MOST_STDIN", 1000)
    report = analyze([f"{url}/train.log"])
    assert report.sources[0].bytes == 1000
    assert any("were read" in note for note in report.notes)


def test_no_secret_of_an_address_is_told(served: tuple[str, Path, type[Served]]) -> None:
    """Neither a signature nor a password stands in a report or in a message, in success and in failure."""
    url, folder, _ = served
    (folder / "secret.log").write_bytes(LOG)
    signed = url.replace("://", "://user:hunter2@") + "/secret.log?sig=right&token=hunter3"
    done = run("analyze", signed, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"]["path"] == f"{url}/secret.log"
    assert b"hunter" not in done.stdout + done.stderr
    for wrong in (
        signed.replace("right", "hunter4"),
        signed.replace("secret", "nowhere"),
        signed.replace("http:", "gopher:"),
    ):
        done = run("analyze", wrong)
        assert done.returncode == 2
        assert b"hunter" not in done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
        assert redacted(wrong).encode() in done.stderr


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("http://127.0.0.1:9/train.log", "http://127.0.0.1:9/train.log: "),
        ("http://nohost.invalid/train.log", "there is no host of that name"),
        ("memory://nowhere", "no such file or folder"),
        ("gopher://host/run", "gopher:// is none of s3://"),
        ("s3://", "s3://"),
    ],
)
def test_what_cannot_be_read_is_the_users_to_mend(path: str, words: str) -> None:
    """One line, no traceback."""
    with pytest.raises(SourceError) as raised:
        find([path])
    assert words in str(raised.value)


def test_a_missing_package_names_the_extra() -> None:
    """Whoever has not installed it learns how to."""
    hidden = (
        "import sys; sys.modules['fsspec'] = None; from forensics.cli import main; main(['analyze', 's3://bucket/run'])"
    )
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, env=environment(), check=False)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[0] == (
        "dflash-forensics: s3://bucket/run: s3:// needs the extra remote: pip install 'dflash-forensics[remote]'"
    )


def test_a_local_run_loads_nothing_of_it(tmp_path: Path) -> None:
    """Nor is a file on disk that is called like an address taken for one."""
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "train.log").write_bytes(LOG)
    code = "import sys; from forensics.analyze import analyze; analyze(['s3://train.log']); sys.exit('fsspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=False).returncode == 0


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        ("s3://bucket/run", "s3", "s3://bucket/run"),
        ("HTTPS://u:p@host/a?sig=1#f", "https", "HTTPS://host/a"),
        ("ssh://u:p%40@h:22/x@y/z", "ssh", "ssh://h:22/x@y/z"),
        ("hf://datasets/o/n@main/f.log", "hf", "hf://datasets/o/n@main/f.log"),
        ("a/b?c", "", "a/b?c"),
    ],
)
def test_an_address_is_shown_without_its_secrets(path: str, kind: str, shown: str) -> None:
    """Users, passwords and queries go, paths stay."""
    assert (scheme(path), redacted(path)) == (kind, shown)
