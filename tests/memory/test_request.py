"""A failed allocation's own numbers: rounding, tolerance, and what they decide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.memory import Request, restart_cannot_help, segment_bytes, verdicts

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def gib(number: float) -> int:
    return round(number * GIB)


@pytest.mark.parametrize(
    ("tensor", "segment"),
    [
        (1, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB - 1, 10 * MIB),
        (10 * MIB, 10 * MIB),
        (15 * MIB, 16 * MIB),
        (16 * MIB, 16 * MIB),
        (16 * 8192 * 128256 * 2, 16 * 8192 * 128256 * 2),
    ],
)
def test_the_allocator_asks_for_whole_segments(tensor: int, segment: int) -> None:
    """Up to 1 MiB becomes 2, up to 10 MiB becomes 20, and more the next even number of MiB."""
    assert segment_bytes(tensor) == segment


@pytest.mark.parametrize(
    ("printed", "unit", "slack"),
    [(gib(276), GIB, GIB // 200 + 1), (16 * MIB, MIB, MIB // 200 + 1), (512, 1, 0)],
)
def test_a_printed_size_may_be_off_by_half_its_last_digit(printed: int, unit: int, slack: int) -> None:
    """Two decimals of a GiB hide 5 MiB; a byte count hides nothing."""
    assert Request(printed, unit_bytes=unit).slack == slack


def test_the_unit_is_inferred_as_pytorch_picks_it() -> None:
    """Exactly 1 GiB prints as 1024.00 MiB, so its slack is that of a MiB."""
    assert Request(GIB).slack == MIB // 200 + 1
    assert Request(GIB + 1).slack == GIB // 200 + 1


def test_an_exact_size_is_matched_to_the_byte_or_to_the_blocks_of_an_allocator() -> None:
    """XLA prints bytes; a count rounded up to 512 is still the same tensor."""
    assert Request(1_000_448, exact=True).accepts(1_000_000)
    assert not Request(1_000_449, exact=True).accepts(1_000_000)


def test_a_rounded_size_accepts_the_tensor_that_prints_as_it() -> None:
    """31.31 GiB is what 16 x 8192 x 128256 x 2 bytes print as."""
    request = Request(33618856509, unit_bytes=GIB)
    assert request.accepts(16 * 8192 * 128256 * 2)
    assert not request.accepts(16 * 8192 * 128000 * 2)


def test_a_request_larger_than_the_card_can_never_fit() -> None:
    """276 GiB on a card of 139.80 GiB: no restart helps, and fragmentation is not the reason."""
    request = Request(gib(276), total_bytes=gib(139.8), free_bytes=gib(134.4), reserved_unallocated_bytes=gib(1.79))
    found = verdicts(request)
    assert found["larger_than_card"] is True
    assert found["fragmentation"] is False
    assert found["shortfall_bytes"] == gib(276) - gib(134.4)
    reason = restart_cannot_help(request)
    assert reason is not None
    assert "276.00 GiB" in reason
    assert "139.80 GiB" in reason


def test_a_request_that_an_empty_card_holds_may_succeed_on_a_restart() -> None:
    """128 GiB fit on an empty card of 139.80 GiB."""
    assert restart_cannot_help(Request(gib(128), total_bytes=gib(139.8))) is None


def test_a_card_of_unknown_size_excludes_nothing() -> None:
    """Without a capacity, or with an impossible one, no verdict about the card is given."""
    for total in (None, 0, 17179869184 * GIB):
        assert restart_cannot_help(Request(gib(276), total_bytes=total)) is None
        assert "larger_than_card" not in verdicts(Request(gib(276), total_bytes=total))


@pytest.mark.parametrize(
    ("unused", "verdict"),
    [(6.5, "fragmentation"), (6.0, "fragmentation"), (3.5, "fragmentation_borderline"), (2.0, None)],
)
def test_fragmentation_needs_as_much_unused_memory_as_was_asked_for(unused: float, verdict: str | None) -> None:
    """Reserved but unallocated memory explains a failure only where it would have covered the request."""
    request = Request(gib(6), total_bytes=gib(80), free_bytes=gib(1), reserved_unallocated_bytes=gib(unused))
    found = verdicts(request)
    for name in ("fragmentation", "fragmentation_borderline"):
        assert found[name] is (name == verdict)


def test_a_neighbour_that_holds_the_shortfall_explains_the_failure() -> None:
    """110.51 GiB of another process, 1.23 GiB short."""
    request = Request(gib(6), total_bytes=gib(139.8), free_bytes=gib(4.77), foreign_bytes=gib(110.51))
    assert verdicts(request)["foreign"] is True


def test_a_small_neighbour_is_not_blamed() -> None:
    """Half a GiB of a desktop or a CUDA context is no cause, even where it would have sufficed."""
    request = Request(gib(2), total_bytes=gib(80), free_bytes=gib(1.8), foreign_bytes=gib(0.5))
    assert verdicts(request)["foreign"] is False


def test_a_neighbour_is_not_blamed_for_what_no_card_holds() -> None:
    """A request above the capacity fails with or without neighbours."""
    request = Request(gib(200), total_bytes=gib(80), free_bytes=gib(10), foreign_bytes=gib(69))
    assert verdicts(request)["foreign"] is False


def test_impossible_readings_are_ignored() -> None:
    """Inside containers NVML yields 17179869184.00 GiB; such a number decides nothing."""
    nonsense = 17179869184 * GIB
    request = Request(
        gib(6), total_bytes=gib(80), free_bytes=gib(1), foreign_bytes=nonsense, reserved_unallocated_bytes=nonsense
    )
    assert verdicts(request) == {"larger_than_card": False, "shortfall_bytes": gib(6) - gib(1)}


def test_memory_that_nobody_names_is_reported() -> None:
    """What is neither free nor this process's tensors or cache belongs to contexts or hidden neighbours."""
    request = Request(
        gib(6),
        total_bytes=gib(80),
        free_bytes=gib(1),
        allocated_bytes=gib(20),
        reserved_unallocated_bytes=gib(1),
    )
    assert verdicts(request)["unaccounted_bytes"] == gib(80) - gib(1) - gib(20) - gib(1)


SIZES = st.none() | st.integers(-GIB, 1 << 70)
REQUESTS = st.builds(Request, st.integers(-GIB, 1 << 60), st.booleans(), st.none(), SIZES, SIZES, SIZES, SIZES, SIZES)


@given(REQUESTS)
def test_no_numbers_make_the_verdicts_raise_or_contradict_themselves(request_: Request) -> None:
    """Whatever a damaged message holds, fragmentation and neighbours never explain what the card cannot hold."""
    found = verdicts(request_)
    if found.get("larger_than_card"):
        assert not found.get("fragmentation")
        assert not found.get("foreign")
        assert restart_cannot_help(request_)
    assert found.get("shortfall_bytes", 0) >= 0


@given(st.integers(1, 1 << 45))
def test_a_segment_is_never_smaller_than_its_tensor(size: int) -> None:
    """Rounding only grows a request, and rounding twice changes nothing from 10 MiB on."""
    segment = segment_bytes(size)
    assert segment >= size
    if size >= 10 * MIB:
        assert segment_bytes(segment) == segment
        assert Request(segment, exact=True).accepts(size)
