"""What would fit: the smallest change to a run that ran out of memory, with its peak worked out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from forensics.memory.dimensions import Numbers
from forensics.memory.footprint import Architecture, Footprint, Setup, falls_back, footprint
from forensics.memory.request import GIB, Request
from forensics.memory.settings import architecture, setups
from forensics.text.sizes import format_size

MARGIN = 0.05
"""Share of the card that a recommended step leaves free: the allocator rounds up, and pieces do not join."""
_CONTEXT = GIB
"""What a CUDA context and its libraries take of a card, about; they stand in no tensor's size."""
_TRUSTED = 0.95
"""A footprint below this share of what was held and asked for has missed something, and is not shown."""


class Option(Struct, frozen=True):
    """The step as it would be after a change."""

    setup: Setup
    footprint: Footprint


class Advice(Struct, frozen=True):
    """What a step needs as it is, and the changes that make it fit, the least intrusive first.

    `usable_bytes` is what a step's peak may be on that card. `options` is empty where no single
    change is enough.
    """

    model: Architecture
    setup: Setup
    footprint: Footprint
    usable_bytes: int
    options: tuple[Option, ...]


def advise(request: Request, numbers: Numbers) -> Advice | None:
    """Work out which change makes the step fit.

    Args:
        request: the numbers of the out-of-memory message; without the card's size nothing is said.
        numbers: what the run said about its sizes and settings (see `collect`).

    Returns:
        None where the run did not say enough, where the arithmetic disagrees with what the message says
        was held, or where the step should have fitted: then something else filled the card.
    """
    total = request.usable_bytes
    model = architecture(numbers)
    if model is None or not total:
        return None
    foreign = request.foreign_bytes or 0
    usable = int((total - foreign) * (1 - MARGIN)) - _CONTEXT
    seen = (request.allocated_bytes or 0) + request.requested_bytes
    for setup in setups(numbers):
        now = footprint(model, setup)
        if not request.requested_bytes and now.peak <= usable:
            return None  # nothing failed, and the likeliest setup fits
        if now.peak < _TRUSTED * seen or now.peak <= usable or _held_too_little(now, request):
            continue
        fitting = [option for option in _changes(model, setup, usable) if option.footprint.peak <= usable]
        return Advice(model, setup, now, usable, tuple(fitting))
    return None


def _held_too_little(now: Footprint, request: Request) -> bool:
    """Tell whether less was allocated than the weights alone take: they were stored in another way."""
    return request.allocated_bytes is not None and request.allocated_bytes < 0.9 * now.parts["weights"]


def _changes(model: Architecture, setup: Setup, usable: int) -> Iterator[Option]:
    """Yield changes in the order in which one would try them: same result, then slower, then other results."""
    fused, recomputed = replace(setup, attention="fused"), replace(setup, checkpointing=True)
    found: list[Setup | None] = []
    if setup.attention == "eager":
        found += [fused, _smaller(model, fused, usable)]
    if falls_back(model, setup):
        halved = replace(setup, autocast=True)
        found += [halved, _smaller(model, halved, usable)]
    found.append(_smaller(model, setup, usable))
    if not setup.checkpointing:
        found += [recomputed, _smaller(model, recomputed, usable)]
    if setup.optimizer in {"adamw", "adamw_fused"}:
        found.append(replace(setup, optimizer="adamw_8bit"))
    yield from (Option(changed, footprint(model, changed)) for changed in found if changed is not None)


def _smaller(model: Architecture, setup: Setup, usable: int) -> Setup | None:
    """Return the step with the largest divisor of its batch that fits, gradients of earlier ones in place."""
    for batch in range(setup.batch - 1, 0, -1):
        changed = replace(setup, batch=batch, accumulated=True)
        if setup.batch % batch == 0 and footprint(model, changed).peak <= usable:
            return changed
    return None


def needs(advice: Advice) -> str:
    """Say what the step needs, part by part."""
    parts = ", ".join(f"{name} {format_size(size)}" for name, size in advice.footprint.parts.items())
    return f"As it is, a step needs about {format_size(advice.footprint.peak)}: {parts}."


def order(option: Option, setup: Setup, name: str) -> str:
    """Say what to change, as an order. `name` is what the run calls its batch."""
    said = []
    if option.setup.attention != setup.attention:
        said.append("use fused attention (`attn_implementation=sdpa`)")
    if option.setup.autocast != setup.autocast:
        said.append("use bfloat16 (`bf16=true`), for attention with shared keys runs unfused in float32")
    if option.setup.batch != setup.batch:
        times = setup.batch // option.setup.batch
        said.append(f"set {name} to {option.setup.batch}, with {times} times the gradient accumulation")
    if option.setup.checkpointing != setup.checkpointing:
        said.append("turn on gradient checkpointing")
    if option.setup.optimizer != setup.optimizer:
        said.append("use an 8-bit AdamW")
    return " and ".join(said)


def promise(option: Option, usable: int) -> str:
    """Say what the changed step needs, and what it leaves."""
    left = format_size(usable - option.footprint.peak)
    return f"about {format_size(option.footprint.peak)} at its peak, {left} less than fits"
