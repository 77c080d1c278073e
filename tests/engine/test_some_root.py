"""Whatever faults come together: one of them is named, for causes that explain one another in a ring hide nothing."""

from __future__ import annotations

import random
from functools import cache

import pytest

from forensics.analyze import analyze_files
from forensics.prove import files_of
from forensics.rulebook.load import load
from forensics.rulebook.schema import Case, Rule

TOGETHER = 3
MIXES = 120
SET_ASIDE = (
    "The run went on after this",
    "This belongs to an earlier",
    "This is only quoted",
    "By its time this lies outside",
)


@cache
def failing() -> list[tuple[Rule, Case]]:
    """Return the cases of rules that prove a root that is an error."""
    return [
        (rule, case)
        for rule in load(cases=True).rules.values()
        for case in rule.case
        if case.fires and case.role == "root" and rule.severity == "error" and not rule.id.startswith("capture.")
    ]


@pytest.mark.parametrize("seed", range(MIXES))
def test_faults_that_come_together_leave_a_root(seed: int) -> None:
    """Three causes, each the root of its own run: of the three together one is the root, or the run came to its end."""
    chosen = random.Random(seed).sample(failing(), TOGETHER)  # noqa: S311 - a mix, not a secret
    files = {f"node{n}/{name}": data for n, (_, case) in enumerate(chosen) for name, data in files_of(case).items()}
    report = analyze_files(files, load())
    acting = [f for f in report.findings if f.severity == "error" and not f.explanation.startswith(SET_ASIDE)]
    assert report.root is not None or report.verdict == "healthy" or not acting, [rule.id for rule, _ in chosen]
    assert report.root is None or not report.root.because
    told = {f.id: f for f in report.findings}
    assert all(name in told for f in report.findings for name in f.because)


def test_a_ring_of_three_is_opened_at_the_earliest() -> None:
    """Two Xids without a time and a kernel that died explain one another: none of them may vanish behind the rest."""
    log = """\
Steps:  44%|████▍     | 1776/4000 [1:40:38<2:06:01, 3.40s/it, loss=0.412, lr=0.0001]
Steps:  44%|████▍     | 1784/4000 [1:41:05<2:05:34, 3.40s/it, loss=0.399, lr=0.0001]
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 1781, in main
[rank1]:     accelerator.backward(loss)
[rank1]: torch.AcceleratorError: CUDA error: unspecified launch failure
"""
    kernel = """\
Sep 19 15:24:44 box kernel: NVRM: Xid (PCI:0000:01:00): 31, pid=45252, name=blender, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_8 faulted @ 0x20_a97ff000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ
Sep 20 22:44:42 box kernel: NVRM: Xid (PCI:0000:02:00): 109, pid=8494, name=python3, channel 0x0000000d, CTX SWITCH TIMEOUT, Info 0x14c011
"""
    report = analyze_files({"train.log": log.encode(), "dmesg.txt": kernel.encode(), "exit_code": b"134\n"}, load())
    assert report.root is not None
    assert report.verdict == "failed"


def test_the_year_of_an_american_date_dates_the_kernels_lines() -> None:
    """What the kernel said a day before the run, of another program, is no part of it."""
    log = """\
09/20/2026 22:03:11 - INFO - __main__ - ***** Running training *****
Steps:  44%|████▍     | 1776/4000 [1:40:38<2:06:01, 3.40s/it, loss=0.412, lr=0.0001]
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 1781, in main
[rank1]:     accelerator.backward(loss)
[rank1]: torch.AcceleratorError: CUDA error: unspecified launch failure
09/20/2026 22:44:45 - INFO - __main__ - closing
"""
    kernel = """\
Sep 19 15:24:44 box kernel: NVRM: Xid (PCI:0000:01:00): 31, pid=45252, name=blender, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_8 faulted @ 0x20_a97ff000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ
Sep 20 22:44:42 box kernel: NVRM: Xid (PCI:0000:02:00): 109, pid=8494, name=python3, channel 0x0000000d, CTX SWITCH TIMEOUT, Info 0x14c011
"""
    report = analyze_files({"train.log": log.encode(), "dmesg.txt": kernel.encode(), "exit_code": b"134\n"}, load())
    assert report.root is not None
    assert (report.root.id, report.root.facts["xid"]) == ("gpu.xid-other", 109)
