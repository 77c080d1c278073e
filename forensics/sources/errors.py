"""What is the user's to mend."""

from __future__ import annotations


class SourceError(Exception):
    """The user named something that cannot be analysed.

    Attributes:
        path: what was named.
        message: what is wrong with it, in words for the user.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message
