"""Which tensor a failed GPU allocation was, from its size, the traceback and the run's own numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from msgspec.structs import replace

from forensics import timeline
from forensics.engine.observe.growth import grown
from forensics.engine.seen import Seen
from forensics.model import Event, Value
from forensics.text.lazy import lazy
from forensics.text.sizes import parse_size

if TYPE_CHECKING:
    from forensics.memory import Advice, Hypothesis, Numbers, Request

_SIZE = r"-?[\d.]{1,24} ?(?:bytes|[KMGTP]i?B)"
_TRIED = lazy(rf"[Tt]ried to allocate (?P<requested_bytes>{_SIZE})")
_FIELDS: Mapping[str, re.Pattern[str]] = {
    "total_bytes": lazy(rf"total capaci?ty of (?P<v>{_SIZE})|(?P<w>{_SIZE}) total capacity"),
    "free_bytes": lazy(rf"of which (?P<v>{_SIZE}) is free|(?P<w>{_SIZE}) free;"),
    "allocated_bytes": lazy(rf"allocated memory (?P<v>{_SIZE}) is allocated|(?P<w>{_SIZE}) already allocated"),
    "reserved_unallocated_bytes": lazy(rf"(?P<v>{_SIZE}) is reserved by PyTorch but unallocated"),
}
_ACCUMULATION = "gradient_accumulation_steps"
_ALLOWED = lazy(rf"(?P<v>{_SIZE}) allowed;")
_MINE = lazy(rf"this process has (?P<v>{_SIZE}) memory in use")


def observe(seen: Seen) -> Iterator[Event]:
    """Yield `attention-allocation` or `allocation` at the line of each failed request that can be named."""
    failed = [e for e in seen.said("exception") if _TRIED.search(e.message)]
    if not failed:
        return
    from forensics.memory import advise, explain

    numbers = _numbers(seen)
    options = {name for e in seen.said("launch", "command") for name in e.fields}
    steps = timeline.placed(seen.current_steps())
    for event in failed:
        request = request_of(event.message)
        if request is None:
            continue
        fits = [f for f in explain(request, numbers, str(event.fields.get("frames") or "")) if f.confidence != "low"]
        advice = _advised(advise(request, numbers), numbers, options)
        growth = grown(steps, event)
        if not fits and not advice and not growth:
            continue
        attention = bool(fits) and fits[0].tensor == "attention scores"
        yield replace(
            event,
            speaker="observed",
            kind="attention-allocation" if attention else "allocation",
            message="\n".join([event.message, *(f.sentence for f in fits[:1])]),
            fields={**event.fields, **_named(fits, growth), **advice},
        )


def _named(fits: Sequence[Hypothesis], growth: str) -> dict[str, Value]:
    """Return what the best fit tells, and the sentences of the others: two fits are two fits."""
    from forensics.memory.instead import instead

    if not fits:
        return {"sentence": growth} if growth else {}
    best, *rest = fits
    # The same tensor with a token more or less is the same explanation.
    others = [f for f in rest if (f.tensor, f.itemsize) != (best.tensor, best.itemsize)]
    fields: dict[str, Value] = {"tensor": best.tensor, "shape": tuple(best.shape), "itemsize": best.itemsize}
    for name in ("heads", "query_len", "kv_len"):
        if (value := getattr(best, name)) is not None:
            fields[name] = value
    if others:
        fields["or_else"] = tuple(other.sentence for other in others[:2])
    return {**fields, "sentence": ". ".join(text for text in (best.sentence, instead(best), growth) if text)}


def _advised(advice: Advice | None, numbers: Numbers, options: AbstractSet[str]) -> dict[str, Value]:
    """Return the change that makes the step fit, what it promises, and what the step needs as it is.

    Where it is a smaller batch, and the launch has options for batch and accumulation, their new values too.
    """
    if advice is None:
        return {}
    from forensics.memory.advice import needs, order, promise

    fields: dict[str, Value] = {"needed_bytes": advice.footprint.peak, "usable_bytes": advice.usable_bytes}
    told = [
        (order(option, advice.setup, numbers.batch_name), promise(option, advice.usable_bytes))
        for option in advice.options
    ]
    if told:
        fields["change"], fields["promise"] = told[0]
        fields["predicted_bytes"] = advice.options[0].footprint.peak
        fields |= _as_options(advice, numbers, options)
    others = "; ".join(f"{change}: {what}" for change, what in told[1:3])
    fields["needs"] = needs(advice) + (f" Or else: {others}." if others else "")
    return fields


def _as_options(advice: Advice, numbers: Numbers, options: AbstractSet[str]) -> dict[str, Value]:
    before, after = advice.setup, advice.options[0].setup
    name = numbers.batch_name.replace("-", "_")
    only_batch = after == replace(before, batch=after.batch, accumulated=True) and after.batch != before.batch
    if not only_batch or not {name, _ACCUMULATION} <= options:
        return {"by_hand": 1}
    steps = int(numbers.words.get(_ACCUMULATION, "1") or 1) * before.batch // after.batch
    return {"by_option": 1, "batch_option": f"--{name}", "fitting_batch": after.batch, "fitting_accumulation": steps}


def request_of(message: str) -> Request | None:
    """Return the request of an out-of-memory message of PyTorch, any release."""
    tried = _TRIED.search(message)
    size = parse_size(tried["requested_bytes"]) if tried else None
    if tried is None or size is None:
        return None
    known: dict[str, int] = {}
    for name, pattern in _FIELDS.items():
        if found := pattern.search(message):
            text = next(g for g in found.groups() if g)
            if (value := parse_size(text)) is not None:
                known[name] = value
    from forensics.memory import Request

    unit = tried["requested_bytes"].split(" ")[-1].lstrip("0123456789.")
    return Request(
        requested_bytes=size,
        exact=unit == "bytes",
        unit_bytes=parse_size(f"1 {unit}") or 1,
        foreign_bytes=_foreign(message, known),
        limit_bytes=parse_size(allowed["v"]) if (allowed := _ALLOWED.search(message)) else None,
        **known,
    )


def _foreign(message: str, known: Mapping[str, int]) -> int | None:
    """Return what others hold: the card less what is free and what this process says it uses.

    The list of processes in the message is no help: in a container NVML lists the
    process itself among them, and often nobody else.
    """
    mine = _MINE.search(message)
    used = parse_size(mine["v"]) if mine else None
    if used is None or not {"total_bytes", "free_bytes"} <= known.keys():
        return None
    other = known["total_bytes"] - known["free_bytes"] - used
    return other if 0 <= other <= known["total_bytes"] else None


def _numbers(seen: Seen) -> Numbers:
    from forensics.memory import Printed, collect
    from forensics.memory.dtypes import ITEMSIZES

    config: dict[str, object] = {}
    argv: dict[str, str] = {}
    shapes: list[tuple[int, ...]] = []
    printed: list[Printed] = []
    for event in seen.said("progress", "config"):
        for name, value in event.fields.items():
            known = config.setdefault(name, [])
            if isinstance(known, list) and value not in known:
                known.append(value)
    for event in seen.said("progress", "tensor-print"):
        shape = event.fields.get("shape")
        if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
            whole = tuple(n for n in shape if isinstance(n, int))
            shapes.append(whole)
            printed.append(Printed(str(event.fields.get("name")), whole, ITEMSIZES.get(str(event.fields.get("dtype")))))
    for event in seen.said("launch", "command"):
        argv |= {k: str(v) for k, v in event.fields.items()}
    return collect(config, argv, shapes, printed)
