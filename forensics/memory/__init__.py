"""Arithmetic on a failed GPU allocation: which tensor it was, and what its numbers decide.

Pure functions of numbers and text: `collect` reads sizes off a run's configuration,
`explain` names the tensor, `verdicts` and `restart_cannot_help` need the message alone.
"""

from forensics.memory.advice import Advice, Option, advise
from forensics.memory.dimensions import Candidates, Numbers, Printed, collect
from forensics.memory.explain import Hypothesis, explain, tensor_of
from forensics.memory.frames import Clue, read_frames
from forensics.memory.request import Request, restart_cannot_help, segment_bytes, verdicts
from forensics.memory.shapes import Tensor

__all__ = [
    "Advice",
    "Candidates",
    "Clue",
    "Hypothesis",
    "Numbers",
    "Option",
    "Printed",
    "Request",
    "Tensor",
    "advise",
    "collect",
    "explain",
    "read_frames",
    "restart_cannot_help",
    "segment_bytes",
    "tensor_of",
    "verdicts",
]
