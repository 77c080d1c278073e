"""Folders and files elsewhere, through fsspec: listed like those on disk, read in ranges, never copied whole.

The only place of fsspec, which the extra `remote` brings along with a package for each store.
What such a package says of an error is never shown: it may hold an address with its signature.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, BinaryIO, cast

from msgspec import Struct, field

from forensics.sources.errors import SourceError
from forensics.sources.gather import Gathering
from forensics.sources.names import is_ignored
from forensics.sources.walk import MOST_FOLDERS
from forensics.text.urls import redacted, scheme

WEB = frozenset({"http", "https"})
SCHEMES = ("s3", "gs", "ssh", "sftp", "hf", "https", "http", "memory")
RANGE = 4 << 20
"""Bytes that one request asks for: much less is a request for every other line, much more is memory."""
KEPT_RANGES = 12
"""Ranges kept of all files together, since every file is looked at more than once: head, tail, whole."""
_TALKERS = ("fsspec", "s3fs", "gcsfs", "paramiko", "aiohttp", "aiobotocore", "botocore", "google", "asyncio", "urllib3")
INSTALL = "pip install 'dflash-forensics[remote]'"

AddStream = Callable[[Gathering, BinaryIO, str, str], None]


class NoRangesError(OSError):
    """The server gives files only whole."""


class Ranges(Struct):
    """Ranges of files that were read last, shared by all who read."""

    _kept: OrderedDict[tuple[str, int], bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: str, number: int, fetch: Callable[[], bytes]) -> bytes:
        """Return a range of a file, fetched if it is not there."""
        with self._lock:
            if (path, number) in self._kept:
                self._kept.move_to_end((path, number))
                return self._kept[path, number]
        data = fetch()
        with self._lock:
            self._kept[path, number] = data
            while len(self._kept) > KEPT_RANGES:
                self._kept.popitem(last=False)
        return data


class RemoteFile(io.RawIOBase):
    """A file elsewhere as one that can be read and sought; as large as it was when it was found."""

    def __init__(self, system: Any, path: str, size: int, ranges: Ranges) -> None:
        super().__init__()
        self._system, self._path, self._size, self._ranges = system, path, size, ranges
        self._at = 0
        self._file: Any = None

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be sought."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a position."""
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Read up to the end of a range, or as much as there is room for."""
        number, start = divmod(self._at, RANGE)
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        data = self._ranges.get(self._path, number, lambda: self._fetch(number))
        piece = data[start : start + wanted]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        """Give the connection back."""
        if self._file is not None:
            with contextlib.suppress(Exception):  # nothing was written, so nothing can be lost
                self._file.close()
            self._file = None
        super().close()

    def _fetch(self, number: int) -> bytes:
        with _plainly():
            if self._file is None:
                self._file = self._system.open(self._path, "rb", block_size=RANGE, cache_type="none")
            self._file.seek(number * RANGE)
            return bytes(self._file.read(min(RANGE, self._size - number * RANGE)))


def add_remote(gathering: Gathering, url: str, label: str, add_stream: AddStream) -> None:
    """Take in a folder or a file elsewhere.

    Args:
        gathering: what is found is added to it.
        url: its address.
        label: what stands before the names shown; empty for the only path.
        add_stream: takes in what can only be read from its beginning to its end.

    Raises:
        SourceError: it is not there, may not be read, or needs a package that is missing.
    """
    system, path = _connect(url)
    try:
        with _plainly():
            folder = url.endswith("/") if scheme(url) in WEB else bool(system.isdir(path))
            info = {} if folder else system.info(path)
        place = _Place(gathering, system, Ranges(), add_stream)
        if folder:
            place.walk(path.rstrip("/"), label, redacted(url))
        else:
            place.add(path, label or redacted(path).rpartition("/")[2], info)
    except OSError as error:
        raise SourceError(redacted(url), error.strerror or "it cannot be read") from error


def _connect(url: str) -> tuple[Any, str]:
    kind = scheme(url)
    if kind not in SCHEMES:
        raise SourceError(redacted(url), f"{kind}:// is none of {', '.join(f'{name}://' for name in SCHEMES)}")
    try:
        import fsspec
        from fsspec.core import url_to_fs

        fsspec.get_filesystem_class(kind)
    except ImportError:
        raise SourceError(redacted(url), f"{kind}:// needs the extra remote: {INSTALL}") from None
    for name in _TALKERS:
        # Without a handler of its own what a package logs goes to stderr, addresses and tracebacks included.
        logging.getLogger(name).addHandler(logging.NullHandler())
    try:
        with _plainly():
            system, path = url_to_fs(url)
    except OSError as error:
        raise SourceError(redacted(url), error.strerror or "it cannot be reached") from error
    return system, str(path)


class _Place(Struct):
    """One file system elsewhere, and where what it holds is taken in."""

    gathering: Gathering
    system: Any
    ranges: Ranges
    add_stream: AddStream

    def walk(self, root: str, label: str, shown_root: str) -> None:
        """Take in a folder's files, its own before those of its folders, and nothing that lies elsewhere."""
        folders = deque([root])
        known = {root}
        listed = 0
        slash = "/" if scheme(root) in WEB else ""  # without it a server answers with a redirection
        while folders:
            folder = folders.popleft()
            try:
                with _plainly():
                    entries = self.system.ls(folder + slash, detail=True)
            except OSError as error:
                if folder == root:
                    raise
                self.gathering.leave_out(redacted(folder[len(root) + 1 :]), f"not read ({error.strerror})")
                continue
            for info in sorted(entries, key=lambda entry: str(entry["name"])):
                path = str(info["name"]).rstrip("/")
                shown = redacted(path)[len(redacted(root)) + 1 :]
                if not path.startswith(f"{root}/") or path in known or is_ignored(shown):
                    continue
                known.add(path)
                if info.get("type") == "directory":
                    if is_ignored(f"{shown}/file"):
                        continue
                    if listed >= MOST_FOLDERS:
                        self.gathering.note_once(
                            f"{shown_root}: more than {MOST_FOLDERS} folders, the rest was not read"
                        )
                        continue
                    folders.append(path)
                    listed += 1
                elif self.gathering.is_full(shown_root):
                    return
                else:
                    self._try(path, f"{label}/{shown}" if label else shown, info)

    def _try(self, path: str, name: str, info: Any) -> None:
        try:
            if info.get("size") is None:
                with _plainly():
                    info = self.system.info(path)
            self.add(path, name, info)
        except OSError as error:
            self.gathering.add_unreadable(name, error)

    def add(self, path: str, name: str, info: Any) -> None:
        """Take in one file: in ranges, or where its server knows none, as a stream."""
        size = info.get("size")
        if size is not None and info.get("partial", True):
            opener = self._opener(path, int(size))
            with contextlib.suppress(NoRangesError):
                self.gathering.add_opened(name, opener, int(size), _written(info))
                return
        with _plainly():
            file = self.system.open(path, "rb", block_size=0)
        with contextlib.closing(file):
            self.add_stream(self.gathering, cast("BinaryIO", _Stream(file)), name, name)

    def _opener(self, path: str, size: int) -> Callable[[], BinaryIO]:
        return lambda: cast("BinaryIO", RemoteFile(self.system, path, size, self.ranges))


class _Stream(Struct):
    """A file that can only be read forward, whose errors are plain."""

    file: Any

    def read(self, size: int) -> bytes:
        with _plainly():
            return bytes(self.file.read(size))


def _written(info: Any) -> float | None:
    """Return when a file was written, in seconds since the epoch, as far as the store tells."""
    for key in ("mtime", "LastModified", "last_modified", "created"):
        value = info.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """Turn whatever a store's package raises into an OSError whose words hold nothing of the address."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - each store has exceptions of its own
        kind = NoRangesError if isinstance(error, ValueError) and "range" in str(error) else OSError
        raise kind(getattr(error, "errno", None) or 5, _reason(error)) from None


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        return _reason(error.__cause__)  # a web server that cannot be reached has no files
    status = getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return "no such file or folder"
    if isinstance(error, PermissionError) or status in {401, 403}:
        return "permission denied: there are no credentials for it, or they do not suffice"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(status, int):
        return f"the server says {status}"
    number = getattr(error, "errno", None)
    if isinstance(number, int):
        return os.strerror(number).lower() if number > 0 else "there is no host of that name"
    return f"it cannot be read ({type(error).__name__})"
