"""Which tensor is a failed allocation: shapes the run can have, held against bytes and frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import isqrt

from msgspec import Struct

from forensics.memory.cues import Work
from forensics.memory.dimensions import Numbers
from forensics.memory.frames import Clue, read_frames
from forensics.memory.request import MIB, Request
from forensics.memory.shapes import (
    KNOWN_VOCABULARIES,
    LOGIT_AXES,
    SCORE_AXES,
    Candidate,
    Tensor,
    batches,
    candidates,
    heads,
    lengths,
)
from forensics.model import Confidence
from forensics.text.sizes import format_size

_SHOWN = 5
_WORTH_SHOWING = 2
"""A hypothesis that much more doubtful than the best one only distracts."""

_HIGH, _MEDIUM, _LOW = 1, 3, 5
"""The largest doubt of each confidence; what is more doubtful is not presented at all."""

_TELLING_SIZE = 256 * MIB
"""Without a frame that tells, a smaller request fits too many tensors to name one."""

_MOST_HEADS = 256
_SHORTEST = 128
"""No shorter sequence fills a card with scores."""

_FARTHEST = 32 * MIB
"""The allocator's rounding (to 20 MiB at most) moves no size farther; this spares most of the checks."""

# Which tensors the failing code can have been making, and the doubt that the code leaves.
_FITS: Mapping[Work, Mapping[Tensor, int]] = {
    "attention": {"attention scores": 0, "attention mask": 1, "activation": 1, "kv cache": 2},
    "attention block": {"attention scores": 1, "activation": 1, "attention mask": 2},
    "mask": {"attention mask": 0},
    "logits": {"logits": 0},
    "one hot": {"one-hot labels": 0},
    "bucket": {"gradient": 0, "parameter": 1},
    "optimizer": {"optimizer state": 0},
    "parameter": {"parameter": 0},
    "backward": {"gradient": 1, "attention scores": 1, "logits": 1, "activation": 2},
    "activation": {"activation": 0},
    "kv cache": {"kv cache": 0, "activation": 2},
    "generated": {},
    "outright": {},
    "unknown": {"attention scores": 3, "logits": 3},
    "none": {"attention scores": 2, "logits": 2},
}

_MADE_BY: Mapping[Work, Tensor] = {
    "attention": "attention scores",
    "mask": "attention mask",
    "logits": "logits",
    "one hot": "one-hot labels",
    "optimizer": "optimizer state",
    "parameter": "parameter",
    "kv cache": "kv cache",
}

# Bytes of an element, with the doubt where neither code nor configuration names a dtype.
_ITEMSIZES: Mapping[Tensor, Mapping[int, int]] = {
    "attention scores": {2: 0, 4: 0},
    "attention mask": {1: 0, 2: 0, 4: 0, 8: 2},
    "logits": {2: 0, 4: 0},
    "one-hot labels": {8: 0, 4: 1, 2: 1},
    "optimizer state": {4: 0, 2: 1, 1: 2},
    "parameter": {2: 0, 4: 0, 1: 1},
    "gradient": {2: 0, 4: 0},
    "activation": {2: 0, 4: 0, 1: 1},
    "kv cache": {2: 0, 4: 1, 1: 1},
}
_FOLLOWS_MODEL_DTYPE: frozenset[Tensor] = frozenset(
    {"attention scores", "logits", "parameter", "gradient", "activation", "kv cache"}
)
_DTYPE_NAMES = {8: "float64", 4: "float32", 2: "bfloat16", 1: "int8"}
_UNITS = {
    "batch": "sequences", "query": "queries", "key": "keys", "layers": "layers", "experts": "experts",
}  # fmt: skip


class Hypothesis(Struct, frozen=True):
    """A tensor that makes the allocator print the request.

    `bytes` is the product of `shape` and `itemsize`; `axes` names each axis. `heads`,
    `query_len` and `kv_len` are set for attention scores and masks. `doubt` orders the
    hypotheses of one request: 0 is beyond doubt.
    """

    tensor: Tensor
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    itemsize: int
    dtype: str
    bytes: int
    confidence: Confidence
    sentence: str
    doubt: int = 0
    heads: int | None = None
    query_len: int | None = None
    kv_len: int | None = None


class _Match(Struct, frozen=True):
    tensor: Tensor
    candidate: Candidate
    itemsize: int
    doubt: int
    error: int

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two matches one statement: axes and the name may differ, the sizes may not."""
        return tuple(sorted(n for n in self.candidate.shape if n > 1)), self.itemsize


def explain(request: Request, numbers: Numbers, frames: str) -> tuple[Hypothesis, ...]:
    """Name the tensors that fit a failed allocation, best first.

    Args:
        request: the numbers of the out-of-memory message.
        numbers: what the run said about its sizes (see `collect`).
        frames: the traceback that ends in the failure, or an empty string.

    Returns:
        At most five hypotheses. Empty where nothing fits, and where only a coincidence
        would: code that asked for a literal size, a small request without a telling frame.
    """
    if request.requested_bytes <= 0:
        return ()
    clue = read_frames(frames)
    matches = [match for match in _matches(request, numbers, clue) if match.doubt <= _LOW]
    if clue.work == "attention" and not any(m.tensor == "attention scores" for m in matches):
        matches += _solved(request, numbers, clue)
    best: dict[tuple[object, ...], _Match] = {}
    for match in sorted(matches, key=_rank):
        best.setdefault(match.identity, match)
    ranked = list(best.values())
    shown = [match for match in ranked if match.doubt <= ranked[0].doubt + _WORTH_SHOWING][:_SHOWN]
    return tuple(_hypothesis(match, shown, clue, numbers) for match in shown)


def tensor_of(request: Request, frames: str) -> Tensor | None:
    """Name the tensor by the failing code alone, for a run that told no sizes; None where it does not tell."""
    work = read_frames(frames).work
    if work == "attention" and request.requested_bytes < _TELLING_SIZE:
        return None  # queries, keys and outputs are made in the same functions
    return _MADE_BY.get(work)


def _rank(match: _Match) -> tuple[int, int, int]:
    return match.doubt, match.error, len(match.candidate.shape)


def _matches(request: Request, numbers: Numbers, clue: Clue) -> Iterator[_Match]:
    yield from _spelled_out(request, numbers, clue)
    yield from _printed(request, numbers, clue)
    small = request.requested_bytes < _TELLING_SIZE
    if request.is_smallest_bucket or (small and clue.work in {"unknown", "none"}):
        return
    for tensor, code_doubt in _FITS[clue.work].items():
        doubt = code_doubt + (3 if tensor == "attention scores" and _is_fused(numbers, clue) else 0)
        sizes = _itemsizes(tensor, numbers, clue)
        for candidate in candidates(tensor, numbers):
            yield from _held_against(request, tensor, candidate, sizes, doubt)


def _held_against(
    request: Request, tensor: Tensor, candidate: Candidate, sizes: Mapping[int, int], doubt: int
) -> Iterator[_Match]:
    elements, reach = candidate.elements, request.slack + _FARTHEST
    for itemsize, dtype_doubt in sizes.items():
        size = elements * itemsize
        if abs(size - request.requested_bytes) > reach:
            continue
        precise = request.is_precise(size)
        if precise or (not request.is_bucket and request.accepts(size)):
            # Rounding up to 2 MiB leaves little room in a large request, and much in a small one.
            rounding = 0 if precise else 1 if request.requested_bytes >= _TELLING_SIZE else 2
            total = doubt + candidate.doubt + dtype_doubt + rounding
            yield _Match(tensor, candidate, itemsize, total, abs(size - request.requested_bytes))


def _spelled_out(request: Request, numbers: Numbers, clue: Clue) -> Iterator[_Match]:
    """Shapes that the failing code, or an exact message such as TensorFlow's, prints itself."""
    spelled = [clue.shape] if clue.shape else []
    if request.exact:
        spelled += numbers.shapes
    for shape in spelled:
        named = _name_shape(shape, numbers, clue.work)
        if named is not None:
            tensor, axes = named
            sizes = {clue.itemsize: 0} if clue.itemsize else _itemsizes(tensor, numbers, clue)
            yield from _held_against(request, tensor, Candidate(axes, shape, 0), sizes, 0)


def _printed(request: Request, numbers: Numbers, clue: Clue) -> Iterator[_Match]:
    """Tensors that the run printed by name, where the failing line has that name: `torch.zeros_like(in_feat)`."""
    for tensor in numbers.printed:
        name = tensor.name.rpartition(".")[2]
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", clue.line):
            continue
        if tensor.shape[-1] in {*numbers.vocab, *KNOWN_VOCABULARIES}:
            kind: Tensor = "logits"
        else:
            kind = (
                "attention scores" if len(tensor.shape) > 2 and tensor.shape[-1] == tensor.shape[-2] else "activation"
            )
        axes = (LOGIT_AXES if kind == "logits" else SCORE_AXES)[-len(tensor.shape) :]
        if len(axes) == len(tensor.shape):
            sizes = {tensor.itemsize: 0} if tensor.itemsize else {2: 1, 4: 1}
            yield from _held_against(request, kind, Candidate(axes, tensor.shape, 0), sizes, 0)


def _name_shape(shape: tuple[int, ...], numbers: Numbers, work: Work) -> tuple[Tensor, tuple[str, ...]] | None:
    """Name a tensor by its spelled shape, as far as the failing code can have made such a tensor."""
    named: tuple[Tensor, tuple[str, ...]] | None = None
    if work == "mask" and 2 <= len(shape) <= 4:
        named = "attention mask", SCORE_AXES[-len(shape) :]
    elif 3 <= len(shape) <= 4 and shape[-1] == shape[-2] >= 128:
        named = "attention scores", SCORE_AXES[-len(shape) :]
    elif 2 <= len(shape) <= 3 and shape[-1] in numbers.vocab:
        named = "logits", LOGIT_AXES[-len(shape) :]
    elif work == "generated":
        named = "activation", tuple(f"axis {n}" for n in range(len(shape)))
    fitting = _FITS[work]
    return named if named is not None and (named[0] in fitting or work in {"generated", "none"}) else None


def _is_fused(numbers: Numbers, clue: Clue) -> bool:
    """Whether only fused attention was configured, which never holds a score matrix."""
    named = numbers.attention
    return clue.work not in {"attention", "mask"} and bool(named) and all("flash" in name for name in named)


def _itemsizes(tensor: Tensor, numbers: Numbers, clue: Clue) -> dict[int, int]:
    """Element widths with their doubt: the code's own dtype first, else the model's."""
    sizes = dict(_ITEMSIZES[tensor])
    if 8 in numbers.itemsizes or clue.itemsize == 8:
        sizes[8] = 0
    if clue.work == "unknown" and clue.itemsize:
        return {clue.itemsize: 0} if clue.itemsize in sizes else {}
    preferred: frozenset[int] = frozenset()
    if clue.work == "attention" and tensor == "attention mask":
        preferred = frozenset({1})  # the math path marks the rows without any key in a boolean copy
    elif clue.itemsize in sizes:
        preferred = frozenset({clue.itemsize})
    elif tensor in _FOLLOWS_MODEL_DTYPE:
        preferred = numbers.itemsizes
    if preferred & sizes.keys():
        sizes = {size: doubt + (0 if size in preferred else 1) for size, doubt in sizes.items()}
    return sizes


def _solved(request: Request, numbers: Numbers, clue: Clue) -> Iterator[_Match]:
    """Score matrices with one size that the run never named, where it comes out as a round number."""
    low, high = request.requested_bytes - request.slack, request.requested_bytes + request.slack
    sizes = _itemsizes("attention scores", numbers, clue)
    counts, known = heads(numbers), lengths(numbers)
    unusual = 0 if numbers.anchors else 1
    # Lengths that nobody named are round: of two that fit, 16384 is meant and 11584 is not.
    roundest: dict[int, int] = {}
    for batch, head, itemsize in product(batches(numbers), counts, sizes):
        side = _side(low, high, batch * head * itemsize)
        roundest[batch] = max(roundest.get(batch, 0), side & -side)
    for (batch, a), itemsize in product(batches(numbers).items(), sizes):
        found: list[Candidate] = []
        for head, b in counts.items():
            row = batch * head * itemsize
            for query, c in known.items():
                key = _round_number(low // (row * query), high // (row * query), 128)
                if key >= query:
                    found.append(Candidate(SCORE_AXES, (batch, head, query, key), a + b + c + unusual + 2))
            for prefix, c in {**numbers.seq, **numbers.context}.items():
                query = _beside(prefix, low // row, high // row)
                if query:
                    found.append(Candidate(SCORE_AXES, (batch, head, query, prefix + query), a + b + c + unusual + 2))
            side = 0 if known else _side(low, high, row)
            if side and side & -side == roundest[batch]:
                found.append(Candidate(SCORE_AXES, (batch, head, side, side), a + b + 2))
        for length, c in known.items() if not counts else ():
            square = batch * length * length * itemsize
            head = high // square
            if 1 < head <= _MOST_HEADS and high - low <= square // 16:
                found.append(Candidate(SCORE_AXES, (batch, head, length, length), a + c + 2))
        for candidate in found:
            yield from _held_against(request, "attention scores", candidate, {itemsize: sizes[itemsize]}, 0)


def _side(low: int, high: int, row: int) -> int:
    """The round number whose square comes to the range, or 0: a multiple of 1024 rather than one of 64."""
    first, last = isqrt(max(low // row, 0)), isqrt(high // row)
    return _round_number(first, last, 1024) or _round_number(first, last, 64)


def _beside(prefix: int, low: int, high: int) -> int:
    """The round number of queries that see a prefix and themselves: queries x (prefix + queries) in the range."""
    first, last = ((isqrt(prefix * prefix + 4 * area) - prefix) // 2 for area in (max(low, 0), max(high, 0)))
    return _round_number(first, last + 1, 128)


def _round_number(low: int, high: int, step: int) -> int:
    """The multiple of `step` within the range, or 0 where there is none or the range is too wide to mean it.

    A range of a sixteenth of a step meets a multiple by chance once in sixteen times.
    """
    number = high // step * step
    return number if low <= number and high - low <= step // 16 and number >= _SHORTEST else 0


def _hypothesis(match: _Match, ranked: list[_Match], clue: Clue, numbers: Numbers) -> Hypothesis:
    shape, axes = match.candidate.shape, match.candidate.axes
    size = match.candidate.elements * match.itemsize
    is_attention = match.tensor in {"attention scores", "attention mask"} and axes[-2:] == SCORE_AXES[-2:]
    head = shape[-3] if is_attention and len(shape) >= 3 and shape[-3] > 1 else None
    return Hypothesis(
        tensor=match.tensor,
        shape=shape,
        axes=axes,
        itemsize=match.itemsize,
        dtype=_dtype(match, numbers),
        bytes=size,
        confidence=_confidence(match, ranked, clue),
        sentence=_sentence(match, size),
        doubt=match.doubt,
        heads=head,
        query_len=shape[-2] if is_attention else None,
        kv_len=shape[-1] if is_attention else None,
    )


def _confidence(match: _Match, ranked: list[_Match], clue: Clue) -> Confidence:
    rivals = [other for other in ranked if other is not match and other.doubt <= match.doubt]
    doubt = match.doubt + (2 if rivals else 0)
    if doubt <= _HIGH and clue.work not in {"unknown", "none"}:
        return "high"
    return "medium" if doubt <= _MEDIUM else "low"


def _dtype(match: _Match, numbers: Numbers) -> str:
    if match.itemsize == 1 and match.tensor == "attention mask":
        return "bool"
    if match.itemsize == 2 and "float16" in numbers.dtypes and "bfloat16" not in numbers.dtypes:
        return "float16"
    return _DTYPE_NAMES[match.itemsize]


def _sentence(match: _Match, size: int) -> str:
    """Spell the product: `32 heads x 32768 queries x 70656 keys x 4 bytes = 276.00 GiB = attention scores`."""
    named = zip(match.candidate.shape, match.candidate.axes, strict=True)
    factors = [f"{length} {_UNITS.get(axis, axis)}" for length, axis in named if length > 1]
    width = f"{match.itemsize} byte{'s' if match.itemsize > 1 else ''}"
    return f"{' x '.join([*factors, width])} = {format_size(size)} = {match.tensor}"
