"""What stands before the lines of a log in no known form is learned from the log, and no part of a message ever is."""

from __future__ import annotations

import pytest

from forensics.text.leads import lead_of, learned
from tests.engine.runs import RAISED, analyse, root, steps

LOG = [*steps(1, 12).splitlines(), "", *RAISED.format(error="KeyError: 'labels'").splitlines()]
SHAPE = "RuntimeError: The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1"


@pytest.mark.parametrize(
    "lead", ["x1000c0s0b0n0:", "a100b:", "train@gpu-b:", "|trainer@a|", "trainer(4)", "{{trainer}}"]
)
def test_what_every_line_begins_with_is_learned(lead: str) -> None:
    """A node of any name, an actor, a job: also before blank lines and before a traceback's frames."""
    assert learned([f"{lead} {line}" for line in LOG]) == (lead,)


def test_several_nodes_may_write_into_one_log() -> None:
    """Each of them has its own name, and the longest is tried first."""
    lines = [f"x{100 + n % 3 * 1000}: {line}" for n, line in enumerate(LOG * 3)]
    assert learned(lines) == ("x1100:", "x2100:", "x100:")


@pytest.mark.parametrize(
    "line",
    [
        "step {n}: loss 2.3",
        "Epoch[0] Batch [{n}] Speed: 93.1 samples/sec",
        "top1: 0.{n}",
        "acc@1: {n}",
        "loss: 2.{n}",
        "[{n}/100] d_loss 0.1",
        "warning[3]: {n}",
        "layer4: {n} parameters",
        "wandb: uploading {n}",
        "f1: 0.{n} best",
        "(base) user@host:~$ sleep {n}",
    ],
)
def test_what_belongs_to_the_message_is_never_learned(line: str) -> None:
    """Counters, metrics, levels and what a few lines have in common."""
    assert learned([line.format(n=n) for n in range(40)] + ["a word", "another one", "..."] * 4) == ()
    if not line.startswith("("):
        assert learned([line.format(n=n) for n in range(40)]) == ()


def test_a_lead_comes_off_with_one_blank() -> None:
    """The blanks behind it are the message's own."""
    assert [lead_of(text, 0, ("ab1:",)) for text in ("ab1:   File", "ab1:", "ab1:x", "ab12: x")] == [5, 4, 0, 0]


@pytest.mark.parametrize("lead", ["", "a100b: ", "x1000c0s0b0n0: ", "|trainer@a| ", "12:03:44.1 trainer(4) ", "w> "])
@pytest.mark.parametrize("error", [SHAPE, "OSError: [Errno 28] No space left on device"])
def test_a_failure_is_found_behind_any_of_them(lead: str, error: str) -> None:
    """The same run with and without it has the same root and the same last step."""
    plain = steps(1, 30) + RAISED.format(error=error)
    told = "".join(f"{lead}{line}\n" for line in plain.splitlines())
    assert root(analyse(train_log=told)) == root(analyse(train_log=plain))
    assert analyse(train_log=told).run.last_step == 30


def test_a_traceback_teaches_the_prefix_that_the_log_began_without() -> None:
    """The header's own line shows what stands before the lines that follow."""
    told = steps(1, 300) + "".join(f"<gpu b> {line}\n" for line in RAISED.format(error=SHAPE).splitlines())
    assert root(analyse(train_log=told)) == "train.shape-mismatch"
