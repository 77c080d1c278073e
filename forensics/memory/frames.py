"""What a traceback says about the tensor it could not allocate: the innermost line that tells."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from forensics.memory.cues import EXPRESSIONS, FUNCTIONS, GENERATED_FILE, OUTRIGHT, RECEIVERS, THIN_FILE, Work
from forensics.memory.dtypes import ITEMSIZES
from forensics.text.lazy import lazy

_LINES_READ = 2000
_LINE_READ = 1000

_HEAD = lazy(r'File "([^"\n]{0,500})", line \d+(?:, in (\S+))?')
_RANK_PREFIX = lazy(r"^\[rank\d+\]: ?")
_MARKERS = lazy(r"\s*[~^][~^ ]*")
_ERROR = lazy(r"[\w.]{0,80}(?:Error|Exception)\b|.{0,80}out of memory")
_FAILURE = lazy(r"OutOfMemory|out of memory|RESOURCE_EXHAUSTED|OOM")
_ASSIGNMENT = lazy(r"\s*([\w.\[\]\"', :]{1,120}?)\s?(?:[-+*/@|&]|//)?=(?!=)")

_DTYPES = lazy(
    r"torch\.(float64|double|int64|long|float32|float|bfloat16|float16|half|bool|uint8|int8|int32)\b(?!\()"
    r"|\.(double|float|half|bfloat16|bool|long|int)\(\)"
)
_CAST_BACK = lazy(r"\.(?:to|type)\(\s?\w{1,30}\.dtype\s?\)|\.type_as\(")
# The unfused paths work in float32 whatever the inputs are (half and bfloat16 are upcast).
_FULL_PRECISION = lazy(r"working_precision|SDPBackend\.MATH|enable_math")
_SPELLED_SHAPE = lazy(r"(?:empty\w{0,20}|zeros|ones|full|randn?)\(\s?[(\[]?((?:\d{1,15},\s?){1,6}\d{1,15})")


class Clue(Struct, frozen=True):
    """The judgement on a traceback.

    `line` is the code (or the function) that decided, `itemsize` the bytes of an element where
    the code names a dtype, `shape` the tensor's shape where the code spells it out.
    """

    work: Work
    line: str = ""
    itemsize: int | None = None
    shape: tuple[int, ...] | None = None


class _Frame(Struct, frozen=True):
    """One frame: its file and function, its code as printed, and the part that carets underline."""

    file: str
    function: str
    code: str
    marked: str


def read_frames(frames: str) -> Clue:
    """Find the innermost frame that says what was being allocated.

    Args:
        frames: a traceback as printed (innermost last, with or without carets and rank
            prefixes) or bare lines of code. What follows the error line is ignored.

    Returns:
        The clue. A frame that merely encloses the failing code, such as an optimizer's
        closure around a forward pass, is not mistaken for it.
    """
    stack = _parse(frames)[::-1]
    if not stack:
        return Clue("none")
    innermost = stack[0]
    shape = _spelled_shape(innermost)
    if GENERATED_FILE.search(innermost.file):
        return Clue("generated" if shape else "unknown", innermost.marked.strip(), _itemsize([innermost]), shape)
    if OUTRIGHT.search(innermost.marked):
        return Clue("outright", innermost.marked.strip())
    in_model, only_thin = False, True
    for depth, frame in enumerate(stack):
        work = _by_code(frame, receiver_tells=only_thin) or _by_function(frame)
        if in_model and work in {"optimizer", "backward"}:
            break  # a forward pass inside optimizer.step(closure), or recomputed during backward
        if work:
            return Clue(work, frame.marked.strip() or frame.function, _itemsize(stack[: depth + 1]), shape)
        in_model = in_model or frame.function in {"_call_impl", "forward", "closure"}
        only_thin = only_thin and bool(THIN_FILE.search(frame.file))
    return Clue("unknown", innermost.marked.strip(), _itemsize([innermost]), shape)


def _by_code(frame: _Frame, *, receiver_tells: bool) -> Work | None:
    """Judge by the underlined expression, then by the name that receives its value."""
    if "closure" in frame.code:
        return None
    for work, pattern in EXPRESSIONS:
        if pattern.search(frame.marked):
            return work
    assigned = _ASSIGNMENT.match(frame.code)
    # In `m = a; m.expand(...)` with the second statement underlined, `m` receives nothing new.
    if not receiver_tells or assigned is None or frame.marked.split("\n")[0] not in frame.code.split(";")[0]:
        return None
    return next((work for work, pattern in RECEIVERS if pattern.search(assigned[1])), None)


def _by_function(frame: _Frame) -> Work | None:
    if "closure" in frame.code:
        return None
    for work, function, file in FUNCTIONS:
        if function.fullmatch(frame.function) and file.search(frame.file):
            return work
    return None


def _itemsize(inner: Sequence[_Frame]) -> int | None:
    """Bytes of an element, from the innermost code that names a dtype; None where none does."""
    for depth, frame in enumerate(inner):
        named = [match[1] or match[2] for match in _DTYPES.finditer(frame.marked)]
        if named and depth == 0 and _CAST_BACK.search(frame.marked):
            return None  # softmax(..., dtype=torch.float32).to(query.dtype): either of the two failed
        if named:
            return ITEMSIZES[named[-1]]
        if _FULL_PRECISION.search(frame.code) or "math_attention" in frame.function:
            return 4
    return None


def _spelled_shape(frame: _Frame) -> tuple[int, ...] | None:
    match = _SPELLED_SHAPE.search(frame.marked)
    return tuple(int(n) for n in match[1].split(",")) if match else None


def _parse(text: str) -> list[_Frame]:
    """Read the frames of the traceback that ends in the failure, outermost first."""
    lines = [_RANK_PREFIX.sub("", line[:_LINE_READ]) for line in text.splitlines()[-_LINES_READ:]]
    heads = [(number, match) for number, line in enumerate(lines) if (match := _HEAD.search(line))]
    if not heads:
        return [_Frame("", "", line, line) for line in lines if line.strip() and not _ERROR.match(line.strip())]
    frames: list[_Frame] = []
    earlier: list[_Frame] = []
    stops = [number for number, _ in heads[1:]]
    for (start, match), stop in zip(heads, [*stops, len(lines)], strict=True):
        body = lines[start + 1 : stop]
        end = next((n for n, line in enumerate(body) if line[:1].strip()), len(body))
        frames.append(_Frame(match[1], match[2] or "", *_code(body[:end])))
        margin = "\n".join(body[end:])
        error = _ERROR.match(margin)
        if error and _FAILURE.search(margin) and "Original Traceback" not in margin:
            return frames
        if error:  # another exception's traceback, or a worker's own one, follows
            earlier, frames = frames, []
    return frames or earlier


def _code(body: Sequence[str]) -> tuple[str, str]:
    """Split the lines below a head into the code and the part of it that is underlined."""
    code: list[str] = []
    marked: list[str] = []
    for line in body:
        if code and _MARKERS.fullmatch(line):
            first = len(line) - len(line.lstrip())
            marked.append(code[-1][first : len(line.rstrip())])
        elif line.strip():
            code.append(line)
    return "\n".join(code), "\n".join(marked) or "\n".join(code)
