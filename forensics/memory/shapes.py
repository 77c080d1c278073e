"""The shapes a run's tensors can have, built from the sizes it named, each with its doubt."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct

from forensics.memory.dimensions import Candidates, Numbers

Tensor: TypeAlias = Literal[
    "attention scores", "attention mask", "logits", "one-hot labels", "optimizer state", "parameter", "gradient",
    "activation", "kv cache",
]  # fmt: skip

_Key = TypeVar("_Key", int, tuple[int, int])


class Candidate(Struct, frozen=True):
    """A shape with the name of each axis; `doubt` sums what had to be assumed for it."""

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    doubt: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)


SCORE_AXES = ("batch", "heads", "query", "key")
LOGIT_AXES = ("batch", "tokens", "vocabulary")
_TRIED = 12
"""Values of one dimension that are combined; the least doubtful ones go first."""

KNOWN_VOCABULARIES = (
    28996, 30522, 32000, 32064, 32128, 32768, 49152, 50257, 50265, 50272, 50304, 50432, 51200, 65024, 65536, 92544,
    100277, 100352, 102400, 119547, 128256, 129280, 131072, 151552, 151643, 151936, 152064, 200064, 201088, 250002,
    250880, 256000, 256128, 262144, 262208,
)  # fmt: skip
"""Vocabularies in wide use (BERT, Llama, GPT-2, T5, Qwen, Gemma, ...), tried where the run names none."""


def candidates(tensor: Tensor, numbers: Numbers) -> Iterator[Candidate]:
    """Yield the shapes that such a tensor can have in this run, in no particular order."""
    return _BUILDERS[tensor](numbers)


def lengths(numbers: Numbers) -> Candidates:
    """Sequence lengths: as named, a drafter's anchors x block, a packed batch, an upper bound."""
    found: Candidates = {}
    for (anchors, first), (block, second) in itertools.product(numbers.anchors.items(), numbers.block.items()):
        _keep(found, anchors * block, first + second)
    _merge(found, numbers.seq, 0)
    _merge(found, numbers.tokens, 1)
    _merge(found, numbers.positions, 1 if not found else 2)
    return _least_doubtful(found)


def batches(numbers: Numbers) -> Candidates:
    """Batch sizes: as named, one (a packed or split batch), or double (pairs, guidance)."""
    if not numbers.batch:
        # Block drafters run one packed document at a time, so they name no batch at all.
        return {1: 0 if numbers.anchors else 1}
    found = dict(numbers.batch)
    _keep(found, 1, 2)
    _merge(found, {2 * size: doubt for size, doubt in numbers.batch.items()}, 2)
    return _least_doubtful(found)


def heads(numbers: Numbers) -> Candidates:
    """Attention heads: as named, a tensor-parallel share of them, or hidden size over head size."""
    found = dict(numbers.heads)
    if not found:
        for (hidden, first), (width, second) in itertools.product(numbers.hidden.items(), numbers.head_dim.items()):
            if hidden % width == 0:
                _keep(found, hidden // width, first + second + 1)
    return _with_shares(found, numbers)


def _scores(numbers: Numbers) -> Iterator[Candidate]:
    pairs = dict(_score_pairs(numbers))
    for (batch, a), (head, b), ((query, key), c) in itertools.product(
        batches(numbers).items(), heads(numbers).items(), pairs.items()
    ):
        yield Candidate(SCORE_AXES, (batch, head, query, key), a + b + c)


def _score_pairs(numbers: Numbers) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield ((queries, keys), doubt): square, a drafter's context plus block, or two named lengths."""
    known = lengths(numbers)
    pairs: dict[tuple[int, int], int] = {}
    for query, doubt in known.items():
        _keep(pairs, (query, query), doubt)
        for context, more in numbers.context.items():
            drafts = 0 if numbers.anchors else 1
            _keep(pairs, (query, context + query), doubt + more + drafts)
            _keep(pairs, (query, context), doubt + more + drafts + 1)
        for key, more in known.items():
            # More keys than queries is the usual way round: a prefix, a memory, an encoder.
            _keep(pairs, (query, key), doubt + more + (2 if key > query else 3))
    yield from pairs.items()


def _masks(numbers: Numbers) -> Iterator[Candidate]:
    """Masks are kept per sequence and head, or once for all of either."""
    pairs = dict(_score_pairs(numbers))
    sizes = batches(numbers)
    _keep(sizes, 1, 1)
    for (batch, a), (head, b), ((query, key), c) in itertools.product(
        sizes.items(), {**heads(numbers), 1: 0}.items(), pairs.items()
    ):
        yield Candidate(SCORE_AXES, (batch, head, query, key), a + b + c)


def _logits(numbers: Numbers) -> Iterator[Candidate]:
    vocab = _with_shares(dict(numbers.vocab), numbers) or dict.fromkeys(KNOWN_VOCABULARIES, 2)
    rows = lengths(numbers)
    # The loss drops the last position: logits[:, :-1].
    _merge(rows, {length - 1: doubt for length, doubt in rows.items() if length > 1}, 1)
    for (batch, a), (tokens, b), (size, c) in itertools.product(batches(numbers).items(), rows.items(), vocab.items()):
        yield Candidate(LOGIT_AXES, (batch, tokens, size), a + b + c)


def _activations(numbers: Numbers) -> Iterator[Candidate]:
    rows = lengths(numbers)
    for length, doubt in list(rows.items()):
        for context, more in numbers.context.items():
            _keep(rows, context + length, doubt + more)
    _merge(rows, numbers.context, 1)
    rows = _least_doubtful(rows)
    widths = list(_widths(numbers))
    for (batch, a), (tokens, b) in itertools.product(batches(numbers).items(), rows.items()):
        for name, width, c in widths:
            yield Candidate(("batch", "tokens", name), (batch, tokens, width), a + b + c)
        for active, c in numbers.experts_per_token.items():
            for width, d in numbers.intermediate.items():
                axes = ("expert tokens", "intermediate")
                yield Candidate(axes, (batch * tokens * active, width), a + b + c + d + 1)
        yield from _per_head(numbers, batch, tokens, a + b + 1)


def _per_head(numbers: Numbers, batch: int, tokens: int, doubt: int) -> Iterator[Candidate]:
    for counts, name in ((heads(numbers), "heads"), (numbers.kv_heads, "kv heads")):
        for (count, c), (width, d) in itertools.product(counts.items(), _head_widths(numbers).items()):
            yield Candidate(("batch", name, "tokens", "head dim"), (batch, count, tokens, width), doubt + c + d)


def _kv_caches(numbers: Numbers) -> Iterator[Candidate]:
    kept = numbers.kv_heads or heads(numbers)
    rows = lengths(numbers)
    _merge(rows, numbers.positions, 0)
    for (batch, a), (count, b), (tokens, c), (width, d) in itertools.product(
        batches(numbers).items(), kept.items(), rows.items(), _head_widths(numbers).items()
    ):
        axes, shape = ("batch", "kv heads", "tokens", "head dim"), (batch, count, tokens, width)
        yield Candidate(axes, shape, a + b + c + d)
        yield Candidate(("keys and values", *axes), (2, *shape), a + b + c + d + 1)
        if layers := _first(numbers.layers):
            yield Candidate(("layers", "keys and values", *axes), (layers, 2, *shape), a + b + c + d + 1)


def _weights(numbers: Numbers) -> Iterator[Candidate]:
    """Matrices of a transformer as torch stores them (out, in), and flat buffers of all of them."""
    for hidden, a in numbers.hidden.items():
        for name, width, b in (*_widths(numbers), *_rows_of_embeddings(numbers)):
            yield Candidate((name, "hidden"), (width, hidden), a + b)
            if name in {"query projection", "intermediate"}:
                yield Candidate(("hidden", name), (hidden, width), a + b)
            for world, c in numbers.world.items():
                if world > 1 and width % world == 0:
                    yield Candidate((f"{name} / {world} ranks", "hidden"), (width // world, hidden), a + b + c + 1)
        for (experts, b), (width, c) in itertools.product(numbers.experts.items(), numbers.intermediate.items()):
            yield Candidate(("experts", "gate and up", "hidden"), (experts, 2 * width, hidden), a + b + c)
            yield Candidate(("experts", "hidden", "intermediate"), (experts, hidden, width), a + b + c)
    for name, total, a in _flat_counts(numbers):
        yield Candidate((name,), (total,), a)
        for world, b in numbers.world.items():
            if world > 1:
                yield Candidate((f"{name} / {world} ranks",), (-(-total // world),), a + b)


def _flat_counts(numbers: Numbers) -> Iterator[tuple[str, int, int]]:
    """Yield (name, elements, doubt) of the flat buffers that FSDP and ZeRO keep: a layer, the whole model."""
    for total, doubt in numbers.parameters.items():
        yield "parameters", total, doubt
    hidden, wide, width = (_first(v) for v in (numbers.hidden, numbers.intermediate, _head_widths(numbers)))
    count, layers, vocab = (_first(v) for v in (numbers.heads, numbers.layers, numbers.vocab))
    few = _first(numbers.kv_heads) or count
    if not (hidden and wide and width and count):
        return
    # A gated transformer layer: query and output, key and value, three matrices, two norms.
    layer = 2 * hidden * width * (count + few) + 3 * hidden * wide + 2 * hidden
    yield "parameters of a layer", layer, 1
    if layers and vocab:
        for embeddings in (2, 1):
            yield "parameters", layers * layer + embeddings * vocab * hidden + hidden, 2


def _widths(numbers: Numbers) -> Iterator[tuple[str, int, int]]:
    """Yield (name, width, doubt) of the last axes that a layer's projections have."""
    seen: set[int] = set()
    for name, width, doubt in sorted(_all_widths(numbers), key=lambda found: found[2]):
        if width not in seen and len(seen) < 2 * _TRIED:
            seen.add(width)
            yield name, width, doubt


def _all_widths(numbers: Numbers) -> Iterator[tuple[str, int, int]]:
    for hidden, a in numbers.hidden.items():
        yield "hidden", hidden, a
    for width, a in _with_shares(dict(numbers.intermediate), numbers).items():
        yield "intermediate", width, a
    for head_width, a in _head_widths(numbers).items():
        for count, b in heads(numbers).items():
            yield "query projection", count * head_width, a + b
            for few, c in numbers.kv_heads.items():
                yield "qkv projection", (count + 2 * few) * head_width, a + b + c + 1
        for count, b in numbers.kv_heads.items():
            yield "kv projection", count * head_width, a + b
    for width, a in numbers.intermediate.items():
        yield "gate and up", 2 * width, a + 1
    for hidden, a in numbers.hidden.items():
        yield "qkv projection", 3 * hidden, a + 1
        if not numbers.intermediate:
            yield "intermediate", 4 * hidden, a + 1


def _rows_of_embeddings(numbers: Numbers) -> Iterator[tuple[str, int, int]]:
    for size, doubt in _with_shares(dict(numbers.vocab), numbers).items():
        yield "vocabulary", size, doubt
    for size, doubt in numbers.positions.items():
        yield "positions", size, doubt + 1


def _head_widths(numbers: Numbers) -> Candidates:
    found = dict(numbers.head_dim)
    if not found:
        for (hidden, a), (count, b) in itertools.product(numbers.hidden.items(), numbers.heads.items()):
            if hidden % count == 0:
                _keep(found, hidden // count, a + b)
    return _least_doubtful(found)


def _with_shares(values: Candidates, numbers: Numbers) -> Candidates:
    """Add each value's share on one rank of a tensor-parallel group."""
    for (value, a), (ranks, b) in itertools.product(list(values.items()), numbers.tensor_parallel.items()):
        if ranks > 1 and value % ranks == 0:
            _keep(values, value // ranks, a + b)
    return _least_doubtful(values)


def _first(values: Candidates) -> int:
    return min(values, key=values.__getitem__, default=0)


def _least_doubtful(values: Candidates) -> Candidates:
    kept = sorted(values, key=values.__getitem__)[:_TRIED]
    return {value: values[value] for value in kept}


def _keep(found: dict[_Key, int], value: _Key, doubt: int) -> None:
    found[value] = min(doubt, found.get(value, doubt))


def _merge(found: Candidates, more: Mapping[int, int], extra: int) -> None:
    for value, doubt in list(more.items()):
        _keep(found, value, doubt + extra)


_BUILDERS: Mapping[Tensor, Callable[[Numbers], Iterator[Candidate]]] = {
    "attention scores": _scores,
    "attention mask": _masks,
    "logits": _logits,
    "one-hot labels": _logits,
    "optimizer state": _weights,
    "parameter": _weights,
    "gradient": _weights,
    "activation": _activations,
    "kv cache": _kv_caches,
}
