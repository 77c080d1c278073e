"""Parts of a stream that can only be read forward, such as a packed log, so that several processes can read it.

The process that reads the second part unpacks all that stands before it and throws it away. That
costs a fraction of what looking through it costs, and needs neither room on disk nor memory that
processes share. Further parts would unpack the same again, for little: the last one waits for it all.
"""

from __future__ import annotations

from collections.abc import Iterator

from forensics.scan.parts import PART, Part

_FIRST = 9 / 16
"""The share of the first part. Both take about as long, if unpacking takes a quarter of what looking through takes."""


def split_stream(size: int, part: int = PART) -> list[Part]:
    """Return the parts of a stream of about that size, which may be a guess: the last one goes on to the end."""
    if size < 2 * part:
        return [Part(0, 1, 0, size)]
    middle = int(size * _FIRST)
    return [Part(0, 2, 0, middle), Part(1, 2, middle, size)]


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
