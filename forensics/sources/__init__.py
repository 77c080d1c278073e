"""The only reader of evidence: finds a run's files, tells what they are, and yields their bytes."""

from forensics.sources.errors import SourceError
from forensics.sources.find import Found, find, find_in_memory, is_remote
from forensics.sources.input import Input
from forensics.sources.watch import Watch

__all__ = ["Found", "Input", "SourceError", "Watch", "find", "find_in_memory", "is_remote"]
