"""The only reader of evidence: finds a run's files, tells what they are, and yields their bytes."""

from forensics.sources.find import Found, SourceError, find, find_in_memory
from forensics.sources.input import Input
from forensics.sources.watch import Watch

__all__ = ["Found", "Input", "SourceError", "Watch", "find", "find_in_memory"]
