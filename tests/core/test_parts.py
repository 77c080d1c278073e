"""The parts of the core that decide: who compiles, who sees whom, how fast to learn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

Core = Callable[[str], Any]


def test_nobody_calls_while_one_thread_compiles(core: Core) -> None:
    """Eight threads, one shape: it is compiled once, and no call overlaps with it."""
    first = core("once").FirstCompile()
    events: list[str] = []

    def compile_it() -> None:
        events.append("begin")
        with first.calling():
            events.append("own call")
        threading.Event().wait(0.05)
        events.append("end")

    def drafter() -> None:
        first.ready("shape", compile_it)
        for _ in range(20):
            with first.calling():
                events.append("call")

    threads = [threading.Thread(target=drafter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events[:3] == ["begin", "own call", "end"]
    assert events[3:] == ["call"] * 160


def test_a_new_shape_waits_for_calls_under_way(core: Core) -> None:
    """The compiler of a second shape begins when the last caller of the first is done."""
    first = core("once").FirstCompile()
    events: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def caller() -> None:
        with first.calling():
            inside.set()
            leave.wait()
            events.append("call")

    threads = [
        threading.Thread(target=caller),
        threading.Thread(target=lambda: first.ready("new", lambda: events.append("compile"))),
    ]
    threads[0].start()
    inside.wait()
    threads[1].start()
    threads[1].join(0.05)
    assert events == []
    leave.set()
    for thread in threads:
        thread.join()
    assert events == ["call", "compile"]


def test_a_compile_that_fails_is_tried_again(core: Core) -> None:
    """The exception is the caller's, and the lock is free for the next."""
    first = core("once").FirstCompile()
    done: list[str] = []

    def fail() -> None:
        raise OSError("no compiler")

    with pytest.raises(OSError, match="no compiler"):
        first.ready("shape", fail)
    first.ready("shape", lambda: done.append("compiled"))
    first.ready("shape", fail)
    assert done == ["compiled"]


def test_the_learning_rate_rises_then_falls(core: Core) -> None:
    """Linear to the peak within the warm-up, along a cosine to almost nothing after it."""
    rates = [core("schedule").schedule(6e-4, 0.1, 100).rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(6e-5)
    assert max(rates) == rates[9] == pytest.approx(6e-4)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 1e-6


def test_the_token_budget_takes_anchors(core: Core) -> None:
    """Context and queries fit in the budget, in whole tiles; a budget without room for a block is refused."""
    parse = core("config").parse
    found = parse(["--ctx", "37888", "--anchors", "1024", "--block-size", "32", "--token-budget", "49152"])
    assert found.anchors_for(37888) == 352
    assert 37888 + 352 * 32 <= 49152
    with pytest.raises(SystemExit) as stopped:
        parse(["--ctx", "1024", "--token-budget", "1024"])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("ctx", "anchors", "block_size"), [(256, 16, 8), (1024, 64, 32), (512, 2, 128), (1024, 1, 256)]
)
def test_the_tiles_hold_all_that_the_mask_shows(core: Core, ctx: int, anchors: int, block_size: int) -> None:
    """A tile is visited if it shows anything, and goes unmasked only if it shows everything."""
    torch = pytest.importorskip("torch")
    config = core("config").parse(
        ["--ctx", str(ctx), "--anchors", str(anchors), "--block-size", str(block_size), "--seed", "3"]
    )
    batch = core("data").batch(config, 5, ctx)
    wanted = core("layout").layout(batch, block_size)
    shown = wanted.mask(torch.device("cpu")).unflatten(0, (-1, 128)).unflatten(2, (-1, 128))
    some, whole = shown.any(1).any(-1), shown.all(1).all(-1)
    tiles = core("layout").tiles(batch, wanted)
    partial, full = torch.zeros_like(some), torch.zeros_like(some)
    for row in range(len(some)):
        partial[row, tiles.kv_indices[0, 0, row, : tiles.kv_num_blocks[0, 0, row]].long()] = True
        full[row, tiles.full_kv_indices[0, 0, row, : tiles.full_kv_num_blocks[0, 0, row]].long()] = True
    assert not (some & ~(partial | full)).any(), "a tile that shows something is not visited"
    assert not (full & ~whole).any(), "a tile that hides something is taken as whole"
    assert not (partial & full).any(), "a tile is visited twice"


def test_a_batch_follows_from_its_number(core: Core) -> None:
    """Two batches of one number are equal, of two numbers not; every block lies in one document."""
    torch = pytest.importorskip("torch")
    config = core("config").parse([])
    make = core("data").batch
    one, same, other = make(config, 1, 128), make(config, 1, 128), make(config, 2, 128)
    assert torch.equal(one.tokens, same.tokens)
    assert torch.equal(one.anchors, same.anchors)
    assert not torch.equal(one.tokens, other.tokens)
    assert bool((one.first <= one.anchors).all())
    assert int(one.anchors.max()) + config.block_size <= 128
