"""Holes: stretches of a file that were never written, read as NUL bytes, and take no room on the disk.

A crash of the machine can leave a log that claims a terabyte, nearly all of it a hole.
"""

from __future__ import annotations

import errno
import os
from typing import BinaryIO

MOST_HOLE = 64 << 20
"""A hole at the end that is larger than this is not read, in bytes."""
_MOST_EXTENTS = 10_000


def data_end(file: BinaryIO, size: int) -> int:
    """Return where the data of a file ends: its size, unless there is a large hole behind it.

    Args:
        file: a file on disk, whose position is kept.
        size: its size in bytes.
    """
    handle = file.fileno()
    at = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        end = _last_extent(handle, size)
    except OSError:
        return size  # the file system tells no holes
    finally:
        os.lseek(handle, at, os.SEEK_SET)
    return end if size - end > MOST_HOLE else size


def _last_extent(handle: int, size: int) -> int:
    end = 0
    for _ in range(_MOST_EXTENTS):
        try:
            data = os.lseek(handle, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return end  # nothing but a hole from here on
            raise
        end = os.lseek(handle, data, os.SEEK_HOLE)
        if end >= size:
            return size
    return size
