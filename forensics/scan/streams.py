"""Parts of a stream that can only be read forward, such as a packed log, so that several processes can read it.

Each process unpacks all that stands before its part and throws it away. That costs a fraction of
what looking through it costs, and needs neither room on disk nor memory that processes share.
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.scan.parts import PART, Part, split

MOST_PARTS = 4
"""Parts of a stream at most: the last of them begins behind three quarters that were unpacked for nothing."""


def split_stream(size: int, part: int = PART) -> list[Part]:
    """Return the parts of a stream of about that size, which may be a guess: the last one goes on to the end."""
    return split(size, max(part, size // MOST_PARTS))


class StreamPart:
    """Reads one part of a stream once. What `Part` says of lines holds here too."""

    def __init__(self, pieces: Iterator[bytes], part: Part) -> None:
        """Pass over what stands before the part.

        Args:
            pieces: the stream from its beginning on.
            part: which part of it is read.
        """
        self._pieces = pieces
        self._stop = part.stop
        self._rest = b""
        self._at = 0
        self.last = part.last
        """Whether the stream ends with this part, which is known of some only when they are read."""
        if part.index:
            for _ in self._up_to(part.start):
                pass
        self.start = self._at

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the part, the first of which begin a line."""
        if self.last:
            yield from self.beyond()
        else:
            yield from self._up_to(self._stop)

    def beyond(self) -> Iterator[bytes]:
        """Yield what is left of the stream."""
        rest, self._rest = self._rest, b""
        if rest:
            yield rest
        for piece in self._pieces:  # noqa: UP028 - `yield from` would close the stream with this generator
            yield piece

    def _up_to(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes from here, where a line begins, to the first line that begins at an offset or behind it."""
        if offset <= self._at:
            return
        for piece in self.beyond():
            at, self._at = self._at, self._at + len(piece)
            end = piece.find(b"\n", max(0, offset - 1 - at)) + 1 if self._at >= offset else 0
            if end:
                self._rest, self._at = piece[end:], at + end
                yield piece[:end]
                return
            yield piece
        self.last = True
