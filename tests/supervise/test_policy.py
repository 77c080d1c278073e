"""The policy: pure, so every case of it can be told."""

from __future__ import annotations

import pytest

from forensics.supervise.policy import Asked, Policy, Try, decide, visible_without

RULES = Policy()
FIRST = Try(1, "memory.gpu-oom", "ckpt-10", 1000.0)


def again(number: int, cause: str | None = "memory.gpu-oom", checkpoint: str | None = None) -> Try:
    """Return a further try that brought a checkpoint of its own."""
    return Try(number, cause, checkpoint or f"ckpt-{number}0", 1000.0 * number, relaunched=True)


def test_a_cause_that_a_restart_repeats_is_refused_unless_something_mends_it() -> None:
    """The reason is said; with the fix of the cause it is tried, and helps."""
    refused = decide(RULES, [FIRST], Asked("no"), 2000.0)
    assert (refused.may, refused.helps) == (False, "no")
    assert "a restart repeats it" in refused.reasons[0]
    mended = decide(RULES, [FIRST], Asked("no", mends=("smaller-batch",)), 2000.0)
    assert (mended.may, mended.helps) == (True, "yes")
    assert decide(RULES, [FIRST], Asked("no", changed_by_hand=True), 2000.0).helps == "maybe"


def test_the_budget_of_a_cause_and_the_budget_in_all() -> None:
    """Two further tries of one cause, five in all; only the budget in all holds for what was changed too."""
    row = [FIRST, again(2), again(3)]
    assert not decide(RULES, row, Asked("maybe"), 1e6).may
    assert decide(RULES, row[:2], Asked("maybe"), 1e6).may
    assert decide(RULES, row, Asked("maybe", mends=("x",)), 1e6).may
    assert decide(RULES, [*row, again(4, "host.killed-signal")], Asked("maybe"), 1e6).may
    many = [FIRST, *(again(n, f"cause.{n}") for n in range(2, 7))]
    assert not decide(RULES, many, Asked("yes", mends=("x",)), 1e6).may


def test_no_new_checkpoint_since_the_last_try_stops_it() -> None:
    """One try may end where it began, the next one may not; progress makes it count anew."""
    stuck = [FIRST, again(2, "host.segfault", "ckpt-10"), again(3, "gpu.illegal-access", "ckpt-10")]
    refused = decide(RULES, stuck, Asked("maybe"), 1e6)
    assert not refused.may
    assert "no new checkpoint" in refused.reasons[0]
    assert decide(RULES, stuck[:2], Asked("maybe"), 1e6).may
    assert decide(RULES, [*stuck[:2], again(3, "gpu.illegal-access", "ckpt-20")], Asked("maybe"), 1e6).may


def test_hardware_is_left_out_or_not_tried_again() -> None:
    """The same GPU would fail again."""
    broken = [Try(1, "gpu.ecc-uncorrectable")]
    assert not decide(RULES, broken, Asked("yes"), 0.0).may
    without = decide(RULES, broken, Asked("yes", excludes=("CUDA_VISIBLE_DEVICES=0,2",)), 0.0)
    assert (without.may, without.helps) == (True, "yes")


def test_the_wait_grows_and_what_has_passed_counts() -> None:
    """None before the first further try, then 30 s, 60 s, up to a bound."""
    assert decide(RULES, [FIRST], Asked("yes"), 1000.0).wait_s == 0.0
    assert decide(RULES, [FIRST, again(2)], Asked("yes"), 2010.0).wait_s == pytest.approx(20.0)
    assert decide(RULES, [FIRST, again(2)], Asked("yes"), 9000.0).wait_s == 0.0
    rules = Policy(per_cause=99, in_all=99)
    long = [FIRST, *(again(n) for n in range(2, 20))]
    assert decide(rules, long, Asked("yes"), 19_000.0).wait_s == rules.most_backoff_s


@pytest.mark.parametrize(
    ("visible", "count", "device", "kept"),
    [
        ("4,5,6", None, 1, "4,6"),
        (None, 4, 0, "1,2,3"),
        ("GPU-a,GPU-b", None, 0, "GPU-b"),
        ("3", None, 0, None),
        (None, None, 0, None),
    ],
)
def test_a_gpu_is_left_out_by_the_number_that_the_program_gave_it(
    visible: str | None, count: int | None, device: int, kept: str | None
) -> None:
    """The program counts what it sees, and nothing is told where nothing would be left."""
    assert visible_without(visible, count, device) == kept
