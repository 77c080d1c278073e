"""Which run passes which policy."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

import pytest

from forensics.analyze import Analysis
from forensics.gate import Policy, decide, load_policy
from tests.gate.runs import DONE, LIMIT, RUNS, examined, steps

TODAY = date(2026, 11, 29)
STATUS = {0: "pass", 1: "fail", 3: "unknown"}


@cache
def run(name: str) -> Analysis:
    """Return the analysis of one of the runs."""
    return examined(RUNS[name])


def policy(text: str, folder: Path) -> Policy:
    """Return the policy that a file with this text is."""
    file = folder / "dflash-forensics.toml"
    file.write_text(text)
    return load_policy(file)


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("healthy", "", 0),
        ("raised", "", 1),
        ("degraded", "", 0),
        ("degraded", "fail-on = 'warning'", 1),
        ("degraded", "require.not-degraded = true", 1),
        ("healthy", "require.not-degraded = true", 0),
        ("degraded", "levels.'compile.recompile-limit' = 'error'", 1),
        ("degraded", "levels.'compile.*' = 'error'", 1),
        ("degraded", "fail-on = 'warning'\nlevels = {'compile.*' = 'error', 'compile.recompile-limit' = 'note'}", 0),
        ("broken", "", 3),
        ("broken", "unknown = 'pass'", 0),
        ("broken", "unknown = 'fail'", 3),
        ("broken", "levels.'capture.nul-tail' = 'error'", 1),
        ("open", "", 3),
        ("open", "unknown = 'pass'", 0),
        ("open", "require.min-last-step = 100", 3),
        ("half", "", 1),
        ("half", "require.total-steps = false", 0),
        ("early", "", 0),
        ("early", "require.total-steps = true", 1),
        ("nan", "", 1),
        ("masked", "", 1),
        ("died", "", 1),
        ("healthy", "require.min-last-step = 20", 0),
        ("healthy", "require.min_last_step = 21", 1),
        ("healthy", "require.final-loss-below = 2.9", 0),
        ("healthy", "require.final-loss-below = 2.8", 1),
        ("nan", "levels.'train.nan-loss' = 'ignore'\nrequire.final-loss-below = 9.0", 1),
        ("healthy", "require.checkpoint = true", 1),
        ("raised", "[[ignore]]\nid = 'setup.*'\nreason = 'ticket 12'", 0),
        ("raised", "[[ignore]]\nid = 'setup.*'\nreason = 'ticket 12'\nuntil = 2026-11-29", 0),
        ("raised", "[[ignore]]\nid = 'setup.*'\nreason = 'ticket 12'\nuntil = 2026-11-28", 1),
        ("healthy", "[[ignore]]\nid = 'setup.tracker'\nreason = 'ticket 12'\nuntil = 2026-11-28", 1),
        ("raised", "levels.'setup.*' = 'ignore'", 0),
        ("raised", "levels.'setup.*' = 'note'", 0),
        ("raised", "levels.'setup.*' = 'warning'", 0),
        ("raised", "fail-on = 'warning'\nlevels.'setup.*' = 'warning'", 1),
        ("raised", "levels.'setup.*' = 'ignore'\nrequire.min-last-step = 20", 1),
    ],
)
def test_a_policy_decides_on_a_run(name: str, text: str, status: int, tmp_path: Path) -> None:
    """The table of what passes: the run, what is asked of it, and the exit status."""
    decision = decide(run(name), policy(text, tmp_path), TODAY)
    reasons = [f"{c.name} {c.standing}: {c.text}" for c in decision.checks]
    assert decision.status == STATUS[status], reasons


def test_a_checkpoint_in_the_folder_or_in_the_log_is_one(tmp_path: Path) -> None:
    """Either proves that one was written."""
    wanted = policy("require.checkpoint = true", tmp_path)
    saved = b" successfully saved checkpoint at iteration      20 to /lustre/ckpt\n" + RUNS["healthy"]["train.log"]
    assert decide(examined({**RUNS["healthy"], "train.log": saved}), wanted, TODAY).status == "pass"
    weights = b"\x80\x02" + b"PK\x03\x04" + b"\0" * 100
    assert decide(examined({**RUNS["healthy"], "out/checkpoint-20/model.pt": weights}), wanted, TODAY).status == "pass"


def test_a_warning_that_led_to_the_end_of_the_run_does_not_make_it_pass(tmp_path: Path) -> None:
    """The root is only a warning, and the run died of it; who ignores the root accepts what follows."""
    memory = (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 276.00 GiB. GPU 0 has a total capacity of 95.00 GiB"
    )
    trace = f'Traceback (most recent call last):\n  File "/w/t.py", line 3, in f\n    g()\ntorch.{memory}\n'
    where = 'File "/v/torch/nn/attention/flex_attention.py", line 99, in sdpa_dense_backward\n    grad = softmax\n'
    log = steps(8, 16) + LIMIT + trace.replace("torch.Out", f"  {where}torch.Out")
    died = examined({"train.log": log.encode(), "exit_code": b"1\n"})
    assert died.report.root is not None
    assert died.report.root.severity == "warning"
    assert decide(died, Policy(), TODAY).status == "fail"
    ignored = f"levels.'{died.report.root.id}' = 'ignore'"
    assert decide(died, policy(ignored, tmp_path), TODAY).status == "pass"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fail_onn = 'error'", "fail-onn"),
        ("fail-on = 'never'", "fail-on"),
        ("require.min-last-step = 'many'", "min-last-step"),
        ("[[ignore]]\nid = 'a.b'", "reason"),
        ("[[ignore]]\nid = 'a.b'\nreason = ' '", "reason"),
        ("[[ignore]]\nid = 'a.b'\nreason = 'x'\nuntil = 'soon'", "until"),
        ("levels.'a.b' = 'fatal'", "levels"),
        ("path = 'x'", "path"),
        ("= broken", "dflash-forensics.toml"),
    ],
)
def test_a_policy_that_is_not_sound_is_refused_with_its_key(text: str, told: str, tmp_path: Path) -> None:
    """A typing error must not silently weaken the gate."""
    from forensics.gate import PolicyError

    with pytest.raises(PolicyError, match=told):
        policy(text, tmp_path)


def test_the_nearest_policy_upwards_counts(tmp_path: Path) -> None:
    """A file of its own before the table of a project, and a project without the table is passed over."""
    from forensics.gate import find_policy

    inner = tmp_path / "project" / "jobs"
    inner.mkdir(parents=True)
    assert find_policy(inner) is None
    (tmp_path / "pyproject.toml").write_text("[tool.dflash-forensics]\nfail-on = 'warning'\n")
    (tmp_path / "project" / "pyproject.toml").write_text("[tool.ruff]\n")
    found = find_policy(inner)
    assert found == tmp_path / "pyproject.toml"
    assert load_policy(found).fail_on == "warning"
    (inner / "dflash-forensics.toml").write_text("")
    assert find_policy(inner) == inner / "dflash-forensics.toml"


def beside(good: str, bad: str, text: str, folder: Path) -> set[str]:
    """Return which comparisons a run does not stand."""
    run, other = examined({"train.log": bad.encode()}), examined({"train.log": good.encode()})
    decision = decide(run, policy(text, folder), TODAY, good=other)
    return {check.name for check in decision.of("fail", "unknown")}


def test_a_run_is_compared_with_a_good_one(tmp_path: Path) -> None:
    """Slower, worse, and with a warning that the good run did not have; each within its limit passes."""
    good = steps(40, 40) + DONE
    assert beside(good, steps(40, 40, seconds=1.0) + DONE, "", tmp_path) == set()
    slow = steps(40, 40, seconds=2.0) + DONE
    assert beside(good, slow, "", tmp_path) == {"gate.slower"}
    assert beside(good, slow, "against.slower-percent = 150", tmp_path) == set()
    assert beside(good, slow, "against.slower-percent = 0", tmp_path) == set()
    worse = steps(40, 40, loss=3.4) + DONE
    assert beside(good, worse, "", tmp_path) == {"gate.worse-loss"}
    warned = steps(8, 40) + LIMIT + steps(40, 40, first=9) + DONE
    assert "gate.new-warning" in beside(good, warned, "", tmp_path)
    assert "gate.new-warning" not in beside(warned, warned, "", tmp_path)
    assert "gate.new-warning" not in beside(good, warned, "against.new-warnings = false", tmp_path)


def test_losses_are_compared_at_the_last_step_that_both_reached(tmp_path: Path) -> None:
    """A run that was planned shorter is not worse for having learned for less long."""
    assert "gate.worse-loss" not in beside(steps(90, 90) + DONE, steps(30, 30) + DONE, "", tmp_path)


def test_what_cannot_be_compared_is_said_to_be_unknown(tmp_path: Path) -> None:
    """A log without times has no speed: neither better nor worse."""
    bare = "".join(f"step {n}/40 loss {3 - n / 100}\n" for n in range(1, 41)) + "training finished\n"
    assert beside(steps(40, 40) + DONE, bare, "", tmp_path) == {"gate.slower"}
