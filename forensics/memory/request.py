"""One failed GPU allocation: what the message printed, and what follows from its numbers alone."""

from __future__ import annotations

from msgspec import Struct

from forensics.text.sizes import format_size

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# PyTorch's caching allocator asks the driver for segments, and its message prints the segment:
# c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size), unchanged from 1.13 to 2.11.
_BLOCK = 512
_SMALL_TENSOR = MIB
_SMALL_SEGMENT = 2 * MIB
_LARGE_TENSOR = 10 * MIB
_LARGE_SEGMENT = 20 * MIB
_ROUND_LARGE = 2 * MIB

_NO_CARD_IS_LARGER = 1 << 50
"""A byte count above this (1 PiB) is a failed reading, such as 17179869184.00 GiB."""

_WORTH_NAMING = 0.05
"""A neighbour below this share of the card (a CUDA context, a desktop) is never the cause."""


class Request(Struct, frozen=True):
    """The numbers of one out-of-memory message, in bytes. None means that it did not say.

    `exact` is true where the message printed a byte count (XLA, TensorFlow, an allocator
    trace); otherwise the size was rounded to two decimals of `unit_bytes` (by default the
    unit that PyTorch picks for such a size). `total_bytes` is the card's capacity,
    `allocated_bytes` what live tensors hold, `reserved_unallocated_bytes` what the allocator
    holds beyond that, `foreign_bytes` what other processes hold, `limit_bytes` what a process
    may take where a share of the card was set.
    """

    requested_bytes: int
    exact: bool = False
    unit_bytes: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_unallocated_bytes: int | None = None
    foreign_bytes: int | None = None
    limit_bytes: int | None = None

    @property
    def usable_bytes(self) -> int | None:
        """Return what the process may have at most: the card, or the share of it that it was allowed."""
        return min((size for size in (self.limit_bytes, self.total_bytes) if size), default=None)

    @property
    def slack(self) -> int:
        """Half of the last printed digit, in bytes: how far the true size may lie from the printed one."""
        if self.exact:
            return 0
        unit = self.unit_bytes or _printed_unit(self.requested_bytes)
        return 0 if unit <= 1 else unit // 200 + 1

    @property
    def is_bucket(self) -> bool:
        """Whether the size is a segment that stands for many small tensors, and so names none by rounding."""
        return not self.exact and self.requested_bytes in {_SMALL_SEGMENT, _LARGE_SEGMENT}

    @property
    def is_smallest_bucket(self) -> bool:
        """Whether the size is the segment of all tensors up to 1 MiB, and so tells nothing at all."""
        return not self.exact and self.requested_bytes == _SMALL_SEGMENT

    def accepts(self, tensor_bytes: int) -> bool:
        """Whether a tensor of so many bytes makes the allocator print this request."""
        sizes = (tensor_bytes, _round_up(tensor_bytes, _BLOCK), segment_bytes(tensor_bytes))
        return any(abs(size - self.requested_bytes) <= self.slack for size in sizes)

    def is_precise(self, tensor_bytes: int) -> bool:
        """Whether the tensor alone, without the allocator's rounding, gives the printed size."""
        return abs(tensor_bytes - self.requested_bytes) <= self.slack


def segment_bytes(tensor_bytes: int) -> int:
    """What the caching allocator requests from the driver for a tensor of so many bytes."""
    size = _round_up(max(tensor_bytes, 1), _BLOCK)
    if size <= _SMALL_TENSOR:
        return _SMALL_SEGMENT
    if size < _LARGE_TENSOR:
        return _LARGE_SEGMENT
    return _round_up(size, _ROUND_LARGE)


def verdicts(request: Request) -> dict[str, bool | int]:
    """What the numbers alone decide; a key is absent where they cannot.

    Returns:
        `larger_than_card` - more than an empty card has; `shortfall_bytes` - requested minus
        free, at least 0; `fragmentation` - memory held but unused would have covered the
        request, `fragmentation_borderline` - half of it or more; `foreign` - without the
        other processes it would have fitted; `unaccounted_bytes` - in use on the card, yet
        not by this process's tensors or cache: CUDA contexts, libraries, and other processes
        where they are not listed (inside most containers).
    """
    wanted = request.requested_bytes
    total = _known(request.total_bytes or None, None)
    free = _known(request.free_bytes, total)
    unused = _known(request.reserved_unallocated_bytes, total)
    foreign = _known(request.foreign_bytes, total)
    allocated = _known(request.allocated_bytes, total)
    found: dict[str, bool | int] = {}
    too_large = total is not None and wanted > total
    if total is not None:
        found["larger_than_card"] = too_large
    if free is not None:
        found["shortfall_bytes"] = max(wanted - free, 0)
    if unused is not None:
        found["fragmentation"] = not too_large and unused >= wanted
        found["fragmentation_borderline"] = not too_large and wanted > unused >= wanted / 2
    if foreign is not None and free is not None:
        short = wanted - free
        counts = total is None or foreign >= _WORTH_NAMING * total
        found["foreign"] = not too_large and counts and short > 0 and foreign >= short
    if total is not None and free is not None and allocated is not None:
        found["unaccounted_bytes"] = max(total - free - allocated - (unused or 0), 0)
    return found


def restart_cannot_help(request: Request) -> str | None:
    """The reason why the same run must fail again, or None where it might not."""
    total = _known(request.usable_bytes, None)
    if total is None or request.requested_bytes <= total:
        return None
    return (
        f"one tensor of {format_size(request.requested_bytes)} is larger than the whole card "
        f"({format_size(total)}): an empty card would refuse it as well"
    )


def _known(size: int | None, total: int | None) -> int | None:
    """Drop readings that cannot be: negative, or more than the card has."""
    if size is None or size < 0 or size > (_NO_CARD_IS_LARGER if total is None else total):
        return None
    return size


def _printed_unit(size: int) -> int:
    # PyTorch compares with <=, so that exactly 1 GiB prints as 1024.00 MiB.
    return next((unit for unit in (GIB, MIB, KIB) if size > unit), 1)


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step
